import { generateKeyPairSync } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import { authenticate } from 'mailauth';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { setSending } from '../../../src/tenancy/instance/index.ts';
import type { AnyBody } from '../../rig/api.ts';
import { bringMail, callMx, createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import type { SinkMessage } from '../../rig/sink.ts';

const DAY = 86_400_000;

let scene: Scene;
let team: Team;
let domain: { id: string; name: string };
let count = 0;
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

beforeAll(async () => {
  scene = await startScene({ roles: ['http', 'delivery', 'receiving'] });
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  scene.dns.set('good.example', 'MX', ['10 mx.sink.test']);
  scene.dns.set('good.example', 'TXT', [['v=spf1 ip4:127.0.0.1 -all']]);
  scene.dns.set('s1._domainkey.good.example', 'TXT', [`v=DKIM1; k=rsa; p=${key}`.match(/.{1,250}/g) ?? []]);
  scene.dns.set('_dmarc.good.example', 'TXT', [['v=DMARC1; p=reject']]);
});
afterAll(() => scene.close());
beforeEach(async () => {
  team = await scene.team();
  domain = await createReceivingDomain(scene, team);
});

const rule = async (pattern: string, action: string, more: object = {}): Promise<string> =>
  (await scene.api('POST', '/inbound-rules', { key: team.key, body: { pattern, action, ...more } })).body.id;
const forward = (pattern: string, ...to: string[]) => rule(pattern, 'forward', { forward_to: to });
const message = (more: string[] = [], text = 'Does it work?'): string =>
  [
    ...more,
    'From: Someone <a@good.example>',
    `To: support@${domain.name}`,
    'Subject: A question',
    `Message-ID: <${++count}@good.example>`,
    'X-Odd:  kept \tas it is',
    '',
    text,
    '',
  ].join('\r\n');
async function signed(raw: string): Promise<string> {
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const options = { signatureData: [{ signingDomain: 'good.example', selector: 's1', privateKey: pem }] };
  const { signatures } = await dkimSign(raw, options as unknown as Parameters<typeof dkimSign>[1]);
  return signatures + raw;
}
async function bring(raw: string, to = [`support@${domain.name}`], from = 'a@good.example') {
  const seen = scene.sink.messages.length;
  const reply = await bringMail(scene, { from, to, raw });
  await scene.settled();
  return { reply, onward: scene.sink.messages.slice(seen) };
}
const received = async (): Promise<AnyBody[]> => {
  const { data } = (await scene.api('GET', '/emails/receiving', { key: team.key })).body;
  return data;
};
const emails = async (): Promise<AnyBody[]> => (await scene.api('GET', '/emails', { key: team.key })).body.data;

/** Returns the auth results of the next server. */
async function judged(got: SinkMessage | undefined) {
  const dns = new Resolver();
  dns.setServers([scene.dns.server]);
  return authenticate(got?.data ?? Buffer.alloc(0), {
    ip: '192.0.2.77',
    helo: 'mx.example.com',
    sender: got?.mailFrom ?? '',
    mta: 'next.example.net',
    disableBimi: true,
    resolver: (name: string, type: string) => dns.resolve(name, type) as Promise<string[]>,
  });
}

describe('forwarding', () => {
  it('keeps the message and passes it on unchanged, with a reversible sender and an ARC seal', async () => {
    const id = await forward(`support@${domain.name}`, 'office@dest.example.org', 'second@dest.example.org');
    const raw = await signed(message());
    const { reply, onward } = await bring(raw);
    expect(reply).toMatch(/^250 2\.0\.0 Stored/);
    const [got, ...others] = onward;
    expect(others).toEqual([]);
    expect(got?.rcptTo).toEqual(['office@dest.example.org', 'second@dest.example.org']);
    expect(got?.mailFrom).toMatch(new RegExp(`^SRS0=[0-9a-v]{6}=[0-9a-v]{2}=good\\.example=a@send\\.${domain.name}$`));
    const text = got?.data.toString('latin1') ?? '';
    expect(text.endsWith(raw)).toBe(true);
    const head = text.slice(0, -raw.length);
    expect(head).toMatch(/^ARC-Seal: i=1;/);
    expect(head).toContain(
      `Delivered-To: support@${domain.name}\r\nReceived: from mx.example.org ([127.0.0.1])\r\n by `,
    );
    const [email] = await received();
    const [sent] = await emails();
    expect(email).toMatchObject({ subject: 'A question', dropped_reason: null });
    expect(sent).toMatchObject({ from: 'Someone <a@good.example>', to: got?.rcptTo, last_event: 'delivered' });
    expect((await scene.api('GET', `/emails/${sent.id}`, { key: team.key })).body.tags).toEqual([
      { name: 'inbound_rule', value: id },
      { name: 'received_email', value: email.id },
    ]);
  });

  it('passes DMARC at the next server: by the original signature, or by the seal without one', async () => {
    await forward('*', 'office@dest.example.org');
    const [bySignature] = (await bring(await signed(message()))).onward;
    expect((await judged(bySignature)).dmarc).toMatchObject({ status: { result: 'pass' } });
    const [bySeal] = (await bring(message())).onward;
    const found = await judged(bySeal);
    expect(found.spf && found.spf.status.result).not.toBe('pass');
    expect(found.arc && found.arc.status.result).toBe('pass');
    expect(bySeal?.data.toString()).toMatch(
      /^ARC-Authentication-Results: i=1;.*\r\n spf=pass.*\r\n dmarc=pass header\.from=good\.example/m,
    );
  });

  it('extends a chain of seals, and says when one is broken', async () => {
    await forward('*', 'office@dest.example.org');
    const [first] = (await bring(message())).onward;
    const again = first?.data.toString().replace(/^Delivered-To:.*\r\n/m, '') ?? '';
    const [second] = (await bring(again)).onward;
    const found = await judged(second);
    expect(second?.data.toString()).toMatch(/^ARC-Seal: i=2;[^=]+=[^;]+;[\s\S]{1,300}cv=pass/);
    expect(found.arc && found.arc.status.result).toBe('pass');
    const [third] = (await bring(again.replace('Does it work?', 'Pay here'))).onward;
    expect(third?.data.toString()).toMatch(/^ARC-Seal: i=2;[\s\S]{1,300}cv=fail/);
  });

  it('passes a repeated message on once', async () => {
    await forward('*', 'office@dest.example.org');
    const raw = message();
    expect((await bring(raw)).onward).toHaveLength(1);
    expect((await bring(raw)).onward).toHaveLength(0);
    expect(await received()).toHaveLength(1);
  });

  it('ends when a message returns to an address, and after too many servers', async () => {
    await forward('*', 'office@dest.example.org');
    const [once] = (await bring(message())).onward;
    const { reply, onward } = await bring(once?.data.toString('latin1') ?? '');
    expect([reply.slice(0, 3), onward]).toEqual(['250', []]);
    const hops = Array.from({ length: 51 }, (_, i) => `Received: from a by b${i}; Sun, 22 Nov 2026 10:00:00 +0000`);
    expect((await bring(message(hops))).onward).toEqual([]);
    expect(await received()).toHaveLength(3);
  });

  it('ends between two rules that forward to each other', async () => {
    const other = await scene.team();
    const theirs = await other.domain();
    await forward(`a@${domain.name}`, `b@${theirs.name}`);
    // Their domain takes mail since, and forwards back.
    await scene.api('PATCH', `/domains/${domain.id}`, {
      key: team.key,
      body: { capabilities: { receiving: 'disabled' } },
    });
    const body = { pattern: `b@${theirs.name}`, action: 'forward', forward_to: [`a@${domain.name}`] };
    expect((await scene.api('POST', '/inbound-rules', { key: other.key, body })).status).toBe(201);
    for (const [key, id] of [
      [team.key, domain.id],
      [other.key, theirs.id],
    ] as const) {
      const on = { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true };
      await scene.api('PATCH', `/domains/${id}`, { key, body: on });
    }
    const { reply, onward } = await bring(message(), [`a@${domain.name}`]);
    expect([reply.slice(0, 3), onward]).toEqual(['250', []]);
    const [item, ...others] = await received();
    expect(others).toEqual([]);
    const { body: kept } = await scene.api('GET', `/emails/receiving/${item.id}`, { key: team.key });
    expect(kept.not_forwarded_reason).toBe('received_here');
  });

  it('removes headers that only this server may add', async () => {
    await forward('*', 'office@dest.example.org');
    const { host } = scene.app.world.config.instance;
    const claims = [
      `Authentication-Results: ${host}; dkim=pass header.d=bank.example`,
      `authentication-results: (a; (b)) "${host.toUpperCase()}" 1; dkim=pass header.d=bank.example`,
      'Received-SPF: pass (bank.example)',
    ];
    const others = [
      'Authentication-Results: mx.example.net; dkim=pass',
      `Authentication-Results: mx.${host}; spf=pass`,
    ];
    const [got] = (await bring(message([...claims, ...others]))).onward;
    const text = got?.data.toString('latin1') ?? '';
    for (const other of others) expect(text).toContain(`\r\n${other}\r\n`);
    for (const claim of claims) expect(text).not.toContain(claim);
  });

  it('keeps the empty sender of a notice', async () => {
    await forward('*', 'office@dest.example.org');
    const [got] = (await bring(message(['Auto-Submitted: auto-replied']), undefined, '')).onward;
    expect(got).toMatchObject({ mailFrom: '', rcptTo: ['office@dest.example.org'] });
  });

  it('uses a return path of ours for a sender that does not fit into 64 bytes', async () => {
    await forward('*', 'office@dest.example.org');
    const from = `bounces+123456-abcd-someone=example.org@em.longer-name.example`;
    const [got] = (await bring(message(), undefined, from)).onward;
    expect(got?.mailFrom).toMatch(new RegExp(`^b-.*@send\\.${domain.name}$`));
    const dsn = `From: x@dest.example.org\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; office@dest.example.org\r\nAction: failed\r\nStatus: 5.1.1\r\n--b--\r\n`;
    expect((await bring(dsn, [got?.mailFrom ?? ''], '')).reply).toMatch(/^250/);
    const [sent] = await emails();
    expect(sent.last_event).toBe('bounced');
  });

  it('counts as a send', async () => {
    await forward('*', 'office@dest.example.org');
    await bring(message());
    expect((await scene.api('GET', '/usage', { key: team.key })).body.emails.daily.sent).toBe(1);
  });
});

describe('a bounce of forwarded mail', () => {
  const bounce = () => 'From: MAILER-DAEMON@dest.example.org\r\nSubject: Undelivered\r\n\r\nNo such user.\r\n';
  async function sender(): Promise<string> {
    await forward('*', 'office@dest.example.org');
    return (await bring(message())).onward[0]?.mailFrom ?? '';
  }

  it('is sent to the sender of the message, with an empty sender', async () => {
    const address = (await sender()).toLowerCase();
    const { reply, onward } = await bring(bounce(), [address], '');
    expect(reply).toMatch(/^250/);
    expect((await bring(bounce(), [address], '')).onward).toEqual([]);
    expect(onward).toMatchObject([{ mailFrom: '', rcptTo: ['a@good.example'] }]);
    expect(onward[0]?.data.toString()).toContain(bounce());
    expect(await received()).toHaveLength(1);
  });

  it('cannot be used to write to anybody: not with a sender, not forged, not after weeks', async () => {
    const address = await sender();
    expect((await bring(bounce(), [address], 'x@example.org')).reply).toMatch(
      /^550 5\.7\.1 This address accepts only bounces/,
    );
    expect((await bring(bounce(), [address.replace('good.example', 'evil.example')], '')).reply).toMatch(
      /^550 5\.7\.1/,
    );
    scene.clock.advance(22 * DAY);
    expect((await bring(bounce(), [address], '')).reply).toMatch(/^550 5\.1\.1/);
  });

  it.each([
    ['a letter', 'From: x@example.org\r\nSubject: An offer\r\n\r\nBuy now\r\n', false],
    ['one that says it is no notice', 'Auto-Submitted: no\r\nSubject: Re: x\r\n\r\nBuy now\r\n', false],
    ['a list', 'From: x@example.org\r\nList-Id: <x.example.org>\r\n\r\nBuy now\r\n', false],
    ['an answer from a holiday', 'From: x@example.org\r\nAuto-Submitted: auto-replied\r\n\r\nI am away\r\n', true],
    ['a report of success', 'Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\n\r\nRead\r\n--b--\r\n', true],
  ])('is accepted only when it is a report: %s', async (_, raw, passes) => {
    const { reply, onward } = await bring(raw, [await sender()], '');
    const says = /^550 5\.7\.1 This address accepts only bounces of forwarded mail; this is not one$/;
    expect(reply).toMatch(passes ? /^250 / : says);
    expect(onward).toHaveLength(passes ? 1 : 0);
  });

  it('has one recipient, and is accepted sixty times an hour at most', async () => {
    const address = await sender();
    const client = await callMx(scene);
    await client.hear();
    await client.say('EHLO mx.example.org');
    await client.say('MAIL FROM:<>');
    expect(await client.say(`RCPT TO:<${address}>`)).toMatch(/^250 /);
    expect(await client.say(`RCPT TO:<support@${domain.name}>`)).toMatch(/^452 4\.5\.3 A bounce of forwarded mail/);
    client.end();
    const once = async (n: number) =>
      bringMail(scene, { from: '', to: [address], raw: bounce().replace('No', `${n} No`) });
    for (let n = 0; n < 60; n++) expect(await once(n)).toMatch(/^250 /);
    expect(await bringMail(scene, { from: '', to: [address.toUpperCase()], raw: bounce() })).toBe(
      '451 4.7.1 60 bounces have arrived at this address within an hour, which is the limit; send it again in an hour',
    );
    scene.clock.advance(3_600_000);
    expect(await once(61)).toMatch(/^250 /);
    await scene.settled();
  });
});

describe('other inbound rules', () => {
  it('include webhook_only, which reports the envelope and keeps no content', async () => {
    await rule(`news@${domain.name}`, 'webhook_only');
    await bring(message(), [`news@${domain.name}`]);
    const [item] = await received();
    const { body } = await scene.api('GET', `/emails/receiving/${item.id}`, { key: team.key });
    expect(body).toMatchObject({ subject: 'A question', dropped_reason: 'inbound_rule', text: null, html: null });
    expect((await scene.events(item.id)).at(-1)).toMatchObject({ data: { dropped_reason: 'inbound_rule' } });
    await bring(message(), [`news@${domain.name}`, `support@${domain.name}`]);
    expect((await received())[0]).toMatchObject({ dropped_reason: null });
  });

  it('include drop, which accepts the message and keeps nothing, and the most specific rule applies', async () => {
    await rule('*', 'drop');
    await forward(`*@${domain.name}`, 'all@dest.example.org');
    await forward(`support+*@${domain.name}`, 'tagged@dest.example.org');
    await rule(`support+spam@${domain.name}`, 'drop');
    const other = await createReceivingDomain(scene, team);
    const to = async (address: string) => (await bring(message(), [address])).onward.flatMap(({ rcptTo }) => rcptTo);
    expect(await to(`x@${other.name}`)).toEqual([]);
    expect(await received()).toEqual([]);
    expect(await to(`x@${domain.name}`)).toEqual(['all@dest.example.org']);
    expect(await to(`SUPPORT+x@${domain.name}`)).toEqual(['tagged@dest.example.org']);
    expect(await to(`support+spam@${domain.name}`)).toEqual([]);
    expect(await received()).toHaveLength(2);
  });
});

it.each([
  [
    'today, the message is to come again',
    { daily_cap: 1 },
    /^451 4\.7\.1 Mail to this address is forwarded, and its owner has reached the daily sending limit; send it again tomorrow$/,
    1,
  ],
  ['this month, it is kept and the log says so', { included_emails: 1 }, /^250 /, 2],
])('forwarding without quota: %s', async (_, plan, says, kept) => {
  await using small = await startScene({ roles: ['http', 'receiving'], config: { plans: { standard: plan } } });
  const { key, ...owner } = await small.team();
  const { name } = await createReceivingDomain(small, { key, ...owner });
  const body = { pattern: '*', action: 'forward', forward_to: ['office@dest.example.org'] };
  await small.api('POST', '/inbound-rules', { key, body });
  const raw = (n: number) => `From: a@good.example\r\nMessage-ID: <${n}@good.example>\r\n\r\nHello\r\n`;
  expect(await bringMail(small, { to: [`a@${name}`], raw: raw(1) })).toMatch(/^250/);
  expect(await bringMail(small, { to: [`a@${name}`], raw: raw(2) })).toMatch(says);
  expect((await small.api('GET', '/emails/receiving', { key })).body.data).toHaveLength(kept);
  expect((await small.api('GET', '/emails', { key })).body.data).toHaveLength(1);
  expect(small.log.some((line) => line.includes('mail not forwarded'))).toBe(kept === 2);
});

it('while sending is switched off, mail to be forwarded is deferred, and other mail is accepted', async () => {
  const { name } = await createReceivingDomain(scene, await scene.team());
  await forward('*', 'office@dest.example.org');
  await setSending(scene.app.world, { isOn: false });
  expect((await bring(message())).reply).toBe(
    '451 4.3.2 Mail to this address is forwarded, and sending is switched off on this installation; send it again later',
  );
  expect((await bring(message(), [`a@${name}`])).reply).toMatch(/^250 /);
  await setSending(scene.app.world, { isOn: true });
  expect((await bring(message())).onward).toHaveLength(1);
  expect(await received()).toHaveLength(1);
});
