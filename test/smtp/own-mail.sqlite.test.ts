// Mail of this installation to addresses that it receives for itself: through its own MX port, like everybody's.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import net from 'node:net';
import { freePort } from '../rig/free-port.ts';
import type { AnyBody } from '../rig/api.ts';
import { bringMail } from '../rig/mx.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { startSink, type Sink } from '../rig/sink.ts';
import { connect, logIn } from './dialogue.ts';

const DAY = 86_400_000;

let scene: Scene;
/** Everybody else's server: on the port of ours, at another address. */
let elsewhere: Sink;
let team: Team;
let domain: string;
let domains = 0;
/** Looks for viruses, finds none, and counts how often it was asked. */
let clamd: net.Server;
let scans = 0;

beforeAll(async () => {
  const port = await freePort();
  clamd = net.createServer((socket) => {
    scans++;
    socket
      .on('error', () => undefined)
      .on('data', (piece) => {
        if (piece.subarray(-4).equals(Buffer.alloc(4))) socket.end('stream: OK\0');
      });
  });
  await new Promise<void>((done) => clamd.listen(0, '127.0.0.1', done));
  elsewhere = await startSink({ host: '127.0.0.2', port });
  scene = await startScene({
    roles: ['http', 'delivery', 'submission', 'receiving'],
    config: {
      // The limit is for one address; mail that we bring to ourselves is not counted.
      receiving: {
        ports: [port],
        greeting_delay_ms: 0,
        messages_per_minute_per_address: 20,
        refusals_max: 1,
        dmarc: 'refuse',
        clamd: `127.0.0.1:${(clamd.address() as net.AddressInfo).port}`,
      },
      delivery: { smtp_port: port },
    },
  });
  scene.dns.set('mx.sink.test', 'A', ['127.0.0.2']);
  scene.dns.set('rasket.test', 'A', ['127.0.0.1']);
  // A server that may write in its own name, which who brings its notices on may not.
  scene.dns.set('mx.example.org', 'TXT', [['v=spf1 ip4:127.0.0.1 -all']]);
  scene.dns.set('_dmarc.mx.example.org', 'TXT', [['v=DMARC1; p=reject']]);
  scene.dns.set('_dmarc.forged.example', 'TXT', [['v=DMARC1; p=reject']]);
});
afterAll(async () => {
  await scene.close();
  await elsewhere.close();
  clamd.close();
});
beforeEach(async () => {
  team = await scene.team();
  domain = await receiving(team);
});

async function receiving(owner: Team): Promise<string> {
  const name = `own${++domains}.example.com`;
  // The records are set before anybody looks them up and remembers what was there.
  scene.dns.set(name, 'MX', ['10 rasket.test']);
  const { id } = await owner.domain(name);
  const body = { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true };
  await scene.api('PATCH', `/domains/${id}`, { key: owner.key, body });
  return name;
}

async function received(owner: Team): Promise<AnyBody[]> {
  const { data } = (await scene.api('GET', '/emails/receiving?limit=100', { key: owner.key })).body;
  const ids = (data as { id: string }[]).map(({ id }) => id);
  return Promise.all(
    ids.map(async (id) => (await scene.api('GET', `/emails/receiving/${id}`, { key: owner.key })).body as AnyBody),
  );
}
const sent = async (): Promise<AnyBody[]> => (await scene.api('GET', '/emails?limit=100', { key: team.key })).body.data;
const rule = async (owner: Team, action: string, more: object = {}): Promise<void> => {
  const body = { pattern: '*', action, ...more };
  expect((await scene.api('POST', '/inbound-rules', { key: owner.key, body })).status).toBe(201);
};

/** Submits a message to somebody elsewhere, and answers what the team has sent and received when nothing moves any more. */
async function submitted(to: string, from = `app@${domain}`) {
  const client = await connect(scene, 'tls');
  await logIn(client, team.key);
  const [address = '', ...more] = to.split(' ');
  await client.say(`MAIL FROM:<${from}> ENVID=e1`);
  expect(await client.say(`RCPT TO:<${address}> ${more.join(' ')}`.trim())).toMatch(/^250/);
  await client.say('DATA');
  client.send(`From: ${from}\r\nSubject: Out\r\n\r\nHello\r\n.\r\n`);
  expect((await client.reply()).join('\n')).toMatch(/^250/);
  client.end();
  for (let day = 0; day < 5; day++) {
    await scene.settled();
    scene.clock.advance(DAY);
  }
  await scene.settled();
  return { sent: await sent(), received: await received(team) };
}

describe('a notice to a sender whose domain receives mail here', () => {
  it('is stored as received mail of the team', async () => {
    const all = await submitted('permfail@dest.example.org NOTIFY=FAILURE');
    expect(all.received).toHaveLength(1);
    expect(all.received[0]).toMatchObject({
      subject: 'Delivery failed',
      from: `Mail delivery <postmaster@${domain}>`,
      received_for: [`app@${domain}`],
      authentication: { dkim: expect.arrayContaining([expect.objectContaining({ domain, result: 'pass' })]) },
      not_forwarded_reason: null,
      dropped_reason: null,
    });
    expect(all.sent.map((one) => [one.subject, one.last_event])).toEqual([
      ['Delivery failed', 'delivered'],
      ['Out', 'bounced'],
    ]);
  });

  it('follows the rules of the team, and no notice results when it cannot be passed on', async () => {
    await rule(team, 'forward', { forward_to: ['permfail@office.example.org'] });
    const all = await submitted('permfail@dest.example.org NOTIFY=FAILURE,DELAY,SUCCESS');
    expect(all.received).toHaveLength(1);
    expect(all.sent.map((one) => [one.subject, one.last_event])).toEqual([
      ['Delivery failed', 'bounced'],
      ['Delivery failed', 'delivered'],
      ['Out', 'bounced'],
    ]);
  });

  it('is dropped when a rule says so', async () => {
    await rule(team, 'drop');
    const all = await submitted('permfail@dest.example.org NOTIFY=FAILURE');
    expect(all.received).toEqual([]);
    expect(all.sent).toHaveLength(2);
  });

  it('ends at an address that accepts no mail', async () => {
    const body = { capabilities: { receiving: 'disabled' } };
    const { data } = (await scene.api('GET', '/domains', { key: team.key })).body;
    await scene.api('PATCH', `/domains/${data[0].id}`, { key: team.key, body });
    const all = await submitted('permfail@dest.example.org NOTIFY=FAILURE');
    expect(all.received).toEqual([]);
    expect(all.sent.map((one) => [one.subject, one.last_event])).toEqual([
      ['Delivery failed', 'bounced'],
      ['Out', 'bounced'],
    ]);
  });
});

describe('mail of one team to another', () => {
  it('arrives at the other team', async () => {
    const other = await scene.team();
    const to = `someone@${await receiving(other)}`;
    const body = { from: `app@${domain}`, to, subject: 'Across', text: 'x' };
    expect((await scene.api('POST', '/emails', { key: team.key, body })).status).toBe(200);
    await scene.settled();
    expect(await sent()).toMatchObject([{ last_event: 'delivered' }]);
    expect(await received(other)).toMatchObject([{ subject: 'Across', received_for: [to] }]);
  });

  it('that was forwarded and bounces is reported to its sender here', async () => {
    const other = await scene.team();
    const to = `someone@${await receiving(other)}`;
    await rule(other, 'forward', { forward_to: ['late@office.example.org'] });
    const seen = elsewhere.messages.length;
    const raw = `From: a@${domain}\r\nSubject: Across\r\n\r\nx\r\n`;
    expect(await bringMail(scene, { from: `a@${domain}`, to: [to], raw })).toMatch(/^250/);
    await scene.settled();
    const onward = elsewhere.messages.slice(seen);
    expect(onward.map(({ rcptTo }) => rcptTo)).toEqual([['late@office.example.org']]);
    const notice = 'From: MAILER-DAEMON@office.example.org\r\nSubject: Undelivered\r\n\r\n550 5.1.1 unknown\r\n';
    expect(await bringMail(scene, { from: '', to: [onward[0]?.mailFrom ?? ''], raw: notice })).toMatch(/^250/);
    await scene.settled();
    expect(await received(team)).toMatchObject([{ subject: 'Undelivered', received_for: [`a@${domain}`] }]);
  });

  it('that was forwarded and bounces is checked where it arrived, and not again', async () => {
    const other = await scene.team();
    const to = `someone@${await receiving(other)}`;
    await rule(other, 'forward', { forward_to: ['late@office.example.org'] });
    const raw = `From: a@${domain}\r\nSubject: Across\r\n\r\nx\r\n`;
    const seen = elsewhere.messages.length;
    expect(await bringMail(scene, { from: `a@${domain}`, to: [to], raw })).toMatch(/^250/);
    await scene.settled();
    const notice = 'From: MAILER-DAEMON@mx.example.org\r\nSubject: Undelivered\r\n\r\n550 5.1.1 unknown\r\n';
    // A message from an untrusted sender in that name is refused.
    const stranger = { from: 'x@elsewhere.example', to: [to], raw: notice };
    const forged = { ...stranger, raw: notice.replace('mx.example.org', 'forged.example') };
    expect(await bringMail(scene, forged)).toMatch(/^550 5\.7\.26 /);
    expect(await bringMail(scene, { ...forged, from: '' })).toMatch(/^550 5\.7\.26 /);
    const before = scans;
    const back = elsewhere.messages[seen]?.mailFrom ?? '';
    expect(await bringMail(scene, { from: '', to: [back], raw: notice })).toMatch(/^250/);
    await scene.settled();
    expect(await received(team)).toMatchObject([
      { subject: 'Undelivered', received_for: [`a@${domain}`], authentication: { verdict: 'pass', spam: null } },
    ]);
    expect(scans - before).toBe(1);
    expect((await scene.api('GET', '/emails?limit=100', { key: other.key })).body.data).toMatchObject([
      { subject: 'Undelivered', last_event: 'delivered' },
      { subject: 'Across', last_event: 'delivered' },
    ]);
  });

  it('to an unknown address here is refused, and not retried', async () => {
    const to = `postmaster2@rasket.test`;
    const body = { from: `app@${domain}`, to, subject: 'Nobody', text: 'x' };
    await scene.api('POST', '/emails', { key: team.key, body });
    await scene.settled();
    expect(await sent()).toMatchObject([{ last_event: 'bounced' }]);
  });
});

it('our own mail does not count towards the limits of an address, and untrusted clients at our address are limited', async () => {
  const other = await scene.team();
  const name = await receiving(other);
  const send = (to: string[]) =>
    scene.api('POST', '/emails', { key: team.key, body: { from: `app@${domain}`, to, subject: 'Much', text: 'x' } });
  for (let n = 0; n < 30; n++) expect((await send([`n${n}@${name}`])).status).toBe(200);
  expect((await send(['a', 'b', 'c', 'd'].map((one) => `${one}@send.${domain}`))).status).toBe(200);
  expect((await send([`last@${name}`])).status).toBe(200);
  await scene.settled();
  expect((await sent()).map((email) => email.last_event).sort()).toEqual(['bounced', ...Array(31).fill('delivered')]);
  expect(await received(other)).toHaveLength(31);
  const from = 'x@dest.example';
  const answers = new Set<string>();
  for (let n = 0; n < 25; n++) {
    const raw = `From: ${from}\r\nMessage-ID: <${n}@dest.example>\r\n\r\nx\r\n`;
    answers.add((await bringMail(scene, { from, to: [`in@${name}`], raw }).catch(String)).slice(0, 3));
  }
  expect([...answers]).toContain('250');
  expect([...answers].some((answer) => answer !== '250')).toBe(true);
});
