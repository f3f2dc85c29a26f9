import { generateKeyPairSync } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnyBody } from '../../rig/api.ts';
import { bringMail, createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

/** Starts a clamd that records what it is sent; the messages decide what it answers. */
async function startClamd(): Promise<{ port: number; seen: Buffer[]; close(): Promise<void> }> {
  const seen: Buffer[] = [];
  const server = net.createServer((socket) => {
    let held = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      held = Buffer.concat([held, piece]);
      const start = 'zINSTREAM\0';
      if (held.length < start.length) return;
      if (held.toString('latin1', 0, start.length) !== start) return void socket.destroy();
      const chunks: Buffer[] = [];
      for (let at = start.length; at + 4 <= held.length;) {
        const length = held.readUInt32BE(at);
        if (length === 0) return answer(socket, Buffer.concat(chunks));
        chunks.push(held.subarray(at + 4, at + 4 + length));
        at += 4 + length;
      }
    });
  });
  function answer(socket: net.Socket, content: Buffer): void {
    seen.push(content);
    if (content.includes('EICAR')) socket.end('stream: Eicar-Test-Signature FOUND\0');
    else if (content.includes('TOO LARGE')) socket.end('INSTREAM size limit exceeded. ERROR\0');
    else if (content.includes('HANG UP')) socket.destroy();
    else socket.end('stream: OK\0');
  }
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as net.AddressInfo;
  return { port, seen, close: () => new Promise((done) => server.close(() => done())) };
}

async function startRspamd(): Promise<{ port: number; asked: http.IncomingHttpHeaders[]; close(): void }> {
  const asked: http.IncomingHttpHeaders[] = [];
  const server = http.createServer((request, response) => {
    asked.push(request.headers);
    let text = '';
    request.on('data', (piece: Buffer) => (text += piece.toString('latin1')));
    request.on('end', () => {
      if (text.includes('BROKEN')) response.writeHead(500).end('no');
      else response.end(JSON.stringify({ score: text.includes('SPAM') ? 16.5 : 0.1, required_score: 15 }));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as net.AddressInfo;
  return { port, asked, close: () => void server.close() };
}

describe('the screening of a message', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  let clamd: Awaited<ReturnType<typeof startClamd>>;
  let rspamd: Awaited<ReturnType<typeof startRspamd>>;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  beforeAll(async () => {
    [clamd, rspamd] = await Promise.all([startClamd(), startRspamd()]);
    scene = await startScene({
      roles: ['http', 'receiving'],
      config: {
        receiving: { clamd: `127.0.0.1:${clamd.port}`, rspamd: `127.0.0.1:${rspamd.port}`, dmarc: 'refuse' },
      },
    });
    team = await scene.team();
    domain = (await createReceivingDomain(scene, team)).name;
    const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    scene.dns.set('good.example', 'TXT', [['v=spf1 ip4:127.0.0.1 -all']]);
    scene.dns.set('s1._domainkey.good.example', 'TXT', [`v=DKIM1; k=rsa; p=${key}`.match(/.{1,250}/g) ?? []]);
    scene.dns.set('_dmarc.good.example', 'TXT', [['v=DMARC1; p=reject']]);
    scene.dns.set('bad.example', 'TXT', [['v=spf1 -all']]);
    scene.dns.set('_dmarc.quarantine.example', 'TXT', [['v=DMARC1; p=quarantine']]);
    scene.dns.set('_dmarc.none.example', 'TXT', [['v=DMARC1; p=none']]);
  });
  afterAll(async () => {
    await scene.close();
    await clamd.close();
    rspamd.close();
  });

  const message = (from: string, text = 'x'): string =>
    `From: <a@${from}>\r\nTo: b@example.com\r\nSubject: ${from}\r\nMessage-ID: <${Math.random()}@${from}>\r\n\r\n${text}\r\n`;
  async function bring(raw: string, from = 'a@bounces.example'): Promise<{ reply: string; email?: AnyBody }> {
    const reply = await bringMail(scene, { from, to: [`b@${domain}`], raw });
    const id = /Stored as (\S+)/.exec(reply)?.[1];
    if (!id) return { reply };
    return { reply, email: (await scene.api('GET', `/emails/receiving/${id}`, { key: team.key })).body };
  }
  async function signed(raw: string): Promise<string> {
    const { signatures } = await dkimSign(raw, {
      signatureData: [
        {
          signingDomain: 'good.example',
          selector: 's1',
          privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        },
      ],
    } as unknown as Parameters<typeof dkimSign>[1]);
    return signatures + raw;
  }

  it.each([
    ['addresses of two domains', 'From: a@good.example, x@evil.example'],
    ['two From', 'From: a@good.example\r\nFrom: x@evil.example'],
    ['an address in an encoded word', 'From: =?utf-8?q?a=40good=2Eexample?='],
  ])('refuses a From that does not name a single domain: %s', async (_, from) => {
    const { reply } = await bring(`${from}\r\nSubject: x\r\nMessage-ID: <${Math.random()}@x>\r\n\r\nx\r\n`);
    expect(reply).toMatch(/^550 5\.7\.26 DMARC cannot be checked/);
  });

  it('records SPF, DKIM and DMARC that pass', async () => {
    const { email } = await bring(await signed(message('good.example')), 'a@good.example');
    expect(email.authentication).toMatchObject({
      spf: { result: 'pass', domain: 'good.example' },
      dkim: [{ result: 'pass', domain: 'good.example', selector: 's1' }],
      dmarc: { result: 'pass', domain: 'good.example', policy: 'reject' },
      arc: { result: 'none' },
      verdict: 'pass',
    });
  });

  it('refuses what the policy of a domain rejects, and marks it under a weaker policy', async () => {
    expect((await bring(message('good.example'), 'a@bad.example')).reply).toMatch(/^550 5\.7\.26 .*good\.example/);
    const altered = (await signed(message('good.example'))).replace('Subject: good', 'Subject: evil');
    expect((await bring(altered)).reply).toMatch(/^550 5\.7\.26 /);
    const { email } = await bring(message('quarantine.example'));
    expect(email.authentication).toMatchObject({
      dmarc: { result: 'fail', policy: 'quarantine' },
      verdict: 'suspicious',
    });
    expect((await bring(message('none.example'))).email.authentication).toMatchObject({
      dmarc: { result: 'fail', policy: 'none' },
      verdict: 'unauthenticated',
    });
  });

  it('does not pass a message without any authentication', async () => {
    const { email } = await bring(message('unknown.example'));
    expect(email.authentication).toMatchObject({
      spf: { result: 'none' },
      dkim: [],
      dmarc: { result: 'none' },
      verdict: 'unauthenticated',
    });
    // A check that fails says no more for it than none; one that passes is enough.
    const failed = (await bring(message('unknown.example'), 'a@bad.example')).email.authentication;
    expect(failed).toMatchObject({ spf: { result: 'fail' }, verdict: 'unauthenticated' });
    const signature = (await bring(await signed(message('good.example')))).email.authentication;
    expect(signature).toMatchObject({ spf: { result: 'none' }, verdict: 'pass' });
    const sender = (await bring(message('unknown.example'), 'a@good.example')).email.authentication;
    expect(sender).toMatchObject({ spf: { result: 'pass' }, dmarc: { result: 'none' }, verdict: 'pass' });
  });

  it('ignores headers in which somebody else uses the name of this server', async () => {
    const { host } = scene.app.world.config.instance;
    const claims = [
      `Authentication-Results: ${host}; dkim=pass header.d=bank.example`,
      `authentication-results : (a; (b)) "${host.toUpperCase()}" 1;\r\n spf=pass`,
      `Authentication-Results:\r\n ${host}.; dmarc=pass`,
    ];
    const other = 'Authentication-Results: mx.example.net; dkim=pass';
    const [first = '', ...rest] = claims;
    const raw = [first, other, ...rest, message('unknown.example')].join('\r\n');
    expect((await bring(raw)).email.headers).toMatchObject({
      'authentication-results': 'mx.example.net; dkim=pass',
      subject: 'unknown.example',
    });
    const alone = await bring([...claims, 'Received-SPF: pass', message('unknown.example')].join('\r\n'));
    expect(Object.keys(alone.email.headers)).toEqual(['from', 'to', 'subject', 'message-id']);
    // The source is what came, so that signatures can be checked.
    const source = await fetch(alone.email.raw.download_url.replace(/^https?:\/\/[^/]+/, scene.url));
    expect(await source.text()).toContain(first);
  });

  it('reports a virus without storing it, and defers what clamd cannot check', async () => {
    const { reply, email } = await bring(message('unknown.example', 'EICAR'));
    expect(reply).toMatch(/^250 /);
    expect(email).toMatchObject({ dropped_reason: 'virus', text: null, html: null, attachments: [], raw: null });
    const large = message('unknown.example', `${'y'.repeat(700_000)}\r\n`);
    expect((await bring(large)).reply).toMatch(/^250 /);
    expect(clamd.seen.at(-1)?.toString('latin1')).toBe(large);
    for (const word of ['TOO LARGE', 'HANG UP']) {
      expect((await bring(message('unknown.example', word))).reply).toMatch(/^451 4\.7\.0 .* viruses /);
    }
  });

  it('marks by a spam score, and marks nothing without one', async () => {
    const { email } = await bring(message('unknown.example', 'SPAM'), 'a@bounces.example');
    expect(email.authentication).toMatchObject({
      spam: { score: 16.5, required_score: 15, is_spam: true },
      verdict: 'suspicious',
    });
    expect(rspamd.asked.at(-1)).toMatchObject({ ip: '127.0.0.1', from: 'a@bounces.example', rcpt: `b@${domain}` });
    const ham = (await bring(message('unknown.example'))).email.authentication;
    expect(ham).toMatchObject({ spam: { is_spam: false }, verdict: 'unauthenticated' });
    expect((await bring(message('unknown.example', 'BROKEN'))).email.authentication.spam).toBeNull();
  });

  it('does not compute a hundred hashes for a message with a hundred signatures', async () => {
    const forged = 'DKIM-Signature: v=1; a=rsa-sha256; d=good.example; s=s1; h=from; bh=x; b=x\r\n'.repeat(100);
    // Nothing is known of it then, and this scene refuses what is disowned.
    expect((await bring(forged + message('unknown.example'))).reply).toMatch(
      /^451 4\.7\.0 SPF, DKIM and DMARC of the message /,
    );
  });

  it('does not join a header of ten thousand folds, and does join one of a thousand', async () => {
    const folded = (folds: number) => `X-Folded: a\r\n${' b\r\n'.repeat(folds)}${message('unknown.example')}`;
    expect((await bring(folded(10_001))).reply).toMatch(/^451 4\.7\.0 /);
    expect((await bring(`not a field\r\n${'nor this\r\n'.repeat(10_001)}${message('unknown.example')}`)).reply).toMatch(
      /^451 4\.7\.0 /,
    );
    expect((await bring(folded(1000))).reply).toMatch(/^250 /);
  });
});

describe('a clamd that is down', () => {
  it('defers all mail, or none, as the setting says', async () => {
    const closed = await startClamd();
    await closed.close();
    for (const [setting, expected] of [
      ['defer', /^451 4\.7\.0 The message cannot be scanned for viruses at present; send it again later$/],
      ['accept', /^250 /],
    ] as const) {
      await using scene = await startScene({
        roles: ['http', 'receiving'],
        config: { receiving: { clamd: `127.0.0.1:${closed.port}`, clamd_down: setting } },
      });
      const { name } = await createReceivingDomain(scene, await scene.team());
      expect(await bringMail(scene, { to: [`b@${name}`], raw: 'Subject: x\r\n\r\nx\r\n' })).toMatch(expected);
    }
  });
});
