import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callMx, createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { ENDINGS, hasBareLineEnd, hiddenMessage } from '../endings.ts';
import { hearGreeting, openTransaction } from './opened.ts';

let scene: Scene;
let team: Team;
let domain: string;
beforeAll(async () => {
  scene = await startScene({ roles: ['http', 'delivery', 'receiving'] });
  team = await scene.team();
  domain = (await createReceivingDomain(scene, team)).name;
});
afterAll(() => scene.close());

const received = async (): Promise<number> =>
  (await scene.api('GET', '/emails/receiving?limit=100', { key: team.key })).body.data.length;

describe('nothing is relayed:', () => {
  it.each([
    'victim@example.net',
    'victim@EXAMPLE.NET',
    'victim@[192.0.2.1]',
    'victim@[IPv6:2001:db8::1]',
    'victim%example.net@rasket.test',
    'victim%example.net',
    'victim',
    'postmaster',
    'root@localhost',
    'victim@localhost',
    'victim@rasket.test',
    'victim@127.0.0.1',
    'example.net!victim',
    'example.net!victim@rasket.test',
    '@rasket.test:victim@example.net',
    '@DOMAIN:victim@example.net',
    '@DOMAIN,@rasket.test:victim@example.net',
    'victim@example.net@DOMAIN',
    '"victim@example.net"@rasket.test',
    '"victim@example.net"',
    'victim@example.net.',
    'victim@sub.DOMAIN',
    'victim@DOMAIN.example.net',
    'victim@xn--DOMAIN',
    'victim@ DOMAIN',
    'b-00000000000000000000000000-0000000000@send.DOMAIN',
    'b-00000000000000000000000000-0000000000@example.net',
    'bounce@send.DOMAIN',
    'victim@DOMAIN\u0000',
    'victim@DOMAIN>,<x@example.net',
    'victim@DOMAIN> ORCPT=rfc822;x@example.net <',
    'victim@"example.net"',
    'victim@[DOMAIN]',
    '@[127.0.0.1]:victim@example.net',
    '@DOMAIN:@rasket.test:victim@example.net',
    '"victim"@example.net',
    '"@DOMAIN"@example.net',
    'victim%example.net%DOMAIN@rasket.test',
    'rasket.test!DOMAIN!victim@example.net',
    'victim@example.net,b@DOMAIN',
    'victim@example.net;b@DOMAIN',
    'victim@example.net b@DOMAIN',
    '<victim@example.net>b@DOMAIN',
    'victim(b@DOMAIN)@example.net',
    'victim@example.net(@DOMAIN)',
    'victim@(DOMAIN)example.net',
    'victim@example.net#@DOMAIN',
    'victim@DOMAIN#example.net',
    'victim@DOMAIN/example.net',
    'victim@DOMAIN\\example.net',
    'victim@DOMAIN:25',
    'victim@DOMAIN..',
    'victim@.DOMAIN',
    'victim\\@example.net@DOMAIN',
    'victim@example.net\u0000@DOMAIN',
    'victim\uff20example.net',
    'victim@example\u3002net',
    'SRS0=AAAA=AA=example.net=victim@send.DOMAIN',
    'SRS0=AAAA=AA=example.net=victim@rasket.test',
    'SRS1=AAAA=example.net==AAAA=AA=example.org=victim@send.DOMAIN',
    'prvs=0123456789=victim@example.net',
    'fbl%example.net@rasket.test',
  ])('RCPT TO:<%s> is refused', async (address) => {
    const client = await callMx(scene);
    await hearGreeting(client);
    await client.say('MAIL FROM:<a@example.org>');
    const reply = await client.say(`RCPT TO:<${address.replaceAll('DOMAIN', domain)}>`);
    expect(reply).toMatch(/^5\d\d 5\./);
    expect(await client.say('DATA')).toMatch(/^503 /);
    client.end();
  });

  it.each(['victim%example.net', '"victim@example.net"', 'example.net!victim', 'a+victim=example.net'])(
    'the local part %s is only a local part',
    async (local) => {
      const client = await callMx(scene);
      await hearGreeting(client);
      await client.say('MAIL FROM:<a@example.org>');
      const reply = await client.say(`RCPT TO:<${local}@${domain}>`);
      if (reply.startsWith('250')) {
        await client.say('DATA');
        expect(await client.say(Buffer.from('x\r\n.\r\n'))).toMatch(/^250 /);
      } else expect(reply).toMatch(/^5/);
      client.end();
      await scene.settled();
      expect(scene.sink.messages).toHaveLength(0);
    },
  );

  it('a client that guesses addresses is disconnected', async () => {
    const client = await callMx(scene);
    await hearGreeting(client);
    await client.say('MAIL FROM:<a@example.org>');
    const replies: string[] = [];
    for (let n = 0; n < 21; n++) replies.push(await client.say(`RCPT TO:<n${n}@example.net>`));
    expect(replies.slice(0, 20).every((reply) => reply.startsWith('550 '))).toBe(true);
    expect(replies[20]).toMatch(/^421 4\.7\.0 /);
    expect(await client.hear()).toBe('closed');
  });

  it('a client may name a hundred recipients at a time, and is asked to send the next separately', async () => {
    const client = await callMx(scene);
    await hearGreeting(client);
    await client.say('MAIL FROM:<a@example.org>');
    for (let n = 0; n < 100; n++) expect(await client.say(`RCPT TO:<n${n}@${domain}>`)).toMatch(/^250 /);
    expect(await client.say(`RCPT TO:<more@${domain}>`)).toMatch(/^452 4\.5\.3 /);
    expect(await client.say(`RCPT TO:<n7@${domain}>`)).toMatch(/^250 /);
    client.end();
  });
});

describe('no message can be smuggled into another', () => {
  it.each(ENDINGS)('after %s', async (_, end) => {
    const before = await received();
    const client = await callMx(scene);
    await openTransaction(client, `b@${domain}`);
    const hidden = hiddenMessage('ceo@example.com', `h@${domain}`);
    const content = Buffer.from(`Subject: outer\r\n\r\nouter${end}${hidden}\r\n.\r\n`, 'utf8');
    const reply = await client.say(content);
    const isBare = hasBareLineEnd(content.toString('latin1'));
    const isFaulty = isBare || content.includes(0);
    expect(reply).toMatch(isBare ? /^550 5\.6\.11 / : isFaulty ? /^550 5\.6\.0 / : /^250 /);
    // One reply, and the next command is the client's own.
    expect(await client.say('NOOP')).toMatch(/^250 /);
    client.end();
    expect(await received()).toBe(before + (isFaulty ? 0 : 1));
  });

  it('with content that is sent together with DATA', async () => {
    const before = await received();
    const client = await callMx(scene);
    await hearGreeting(client);
    const envelope = `MAIL FROM:<a@example.org>\r\nRCPT TO:<b@${domain}>\r\nDATA\r\n`;
    client.send(
      `${envelope}Subject: at once\r\n\r\n${hiddenMessage('ceo@example.com', `h@${domain}`)}\r\n.\r\nQUIT\r\n`,
    );
    const replies: string[] = [];
    for (let n = 0; n < 5; n++) replies.push((await client.hear()).slice(0, 3));
    expect(replies).toEqual(['250', '250', '354', '250', '221']);
    expect(await client.hear()).toBe('closed');
    expect(await received()).toBe(before + 1);
  });

  it.each([1, 2, 3, 5, 7])('however the end is cut, %i bytes at a time', async (size) => {
    const before = await received();
    const client = await callMx(scene);
    await openTransaction(client, `b@${domain}`);
    const content = Buffer.from('Subject: cut\r\n\r\n..\r\n..a\r\n\r\n.\r\n');
    const reply = client.hear();
    for (let at = 0; at < content.length; at += size) {
      client.send(content.subarray(at, at + size));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await reply).toMatch(/^250 /);
    client.end();
    expect(await received()).toBe(before + 1);
  });

  it('by commands in clear text before a TLS handshake', async () => {
    const client = await callMx(scene);
    await hearGreeting(client);
    client.send(`STARTTLS\r\nEHLO a.example\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<b@${domain}>\r\n`);
    expect(await client.hear()).toMatch(/^220 /);
    // The handshake fails, because the server takes the rest for it; or it succeeds and nothing was said.
    const isSecure = await client.startTls().then(
      () => true,
      () => false,
    );
    if (isSecure) expect(await client.say('DATA')).toMatch(/^503 /);
    client.end();
  });

  it('by a client that speaks before the greeting, which is disconnected', async () => {
    await using patient = await startScene({
      roles: ['http', 'receiving'],
      config: { receiving: { greeting_delay_ms: 500 } },
    });
    const client = await callMx(patient);
    client.send('EHLO a.example\r\n');
    expect(await client.hear()).toMatch(/^(421|554) .*Wait for the greeting/);
    const other = await callMx(patient);
    const greeting = other.hear();
    expect(await advanceUntil(patient, greeting)).toMatch(/^220 /);
    client.end();
    other.end();
  });
});

/** The connection may not have been noticed when the clock was moved. */
async function advanceUntil(patient: Scene, greeting: Promise<string>): Promise<string> {
  let isHeard = false;
  void greeting.then(() => (isHeard = true));
  while (!isHeard) {
    patient.clock.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return greeting;
}
