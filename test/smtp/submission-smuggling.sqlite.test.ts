// The content of an application's message goes out as one message, whatever it looks like, and nothing in it is obeyed as a command.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { openDialogue } from '../rig/smtp-dialogue.ts';
import { connect, logIn, findPort, type Dialogue } from './dialogue.ts';
import { ENDINGS, hasBareLineEnd, hiddenMessage } from './endings.ts';

let scene: Scene;
let team: Team;
let from = '';
let seen = 0;
beforeAll(async () => {
  scene = await startScene({ roles: ['http', 'delivery', 'submission'], sink: { smtpUtf8: true } });
  team = await scene.team();
  from = `app@${(await team.domain()).name}`;
});
afterAll(() => scene.close());
beforeEach(() => void (seen = scene.sink.messages.length));

const left = async () => {
  await scene.settled();
  return scene.sink.messages.slice(seen);
};

async function opened(): Promise<Dialogue> {
  const client = await connect(scene, 'tls');
  await logIn(client, team.key);
  expect(await client.say(`MAIL FROM:<${from}>`)).toMatch(/^250/);
  expect(await client.say('RCPT TO:<b@example.org>')).toMatch(/^250/);
  expect(await client.say('DATA')).toMatch(/^354/);
  return client;
}

describe('no message can be smuggled into another', () => {
  it.each(ENDINGS)('after %s', async (_, end) => {
    const client = await opened();
    const hidden = hiddenMessage(from, 'hidden@example.net');
    const content = `From: ${from}\r\nSubject: outer\r\n\r\nouter${end}${hidden}\r\n.\r\n`;
    client.send(Buffer.from(content, 'utf8'));
    const isFaulty = hasBareLineEnd(content) || content.includes('\0');
    expect((await client.reply()).join('\n')).toMatch(isFaulty ? /^550.5\.6\.0/ : /^250.2\.6\.0/);
    // One reply, and the next command is the client's own.
    expect(await client.say('NOOP')).toMatch(/^250/);
    client.end();
    const out = await left();
    expect(out.map(({ rcptTo }) => rcptTo)).toEqual(isFaulty ? [] : [['b@example.org']]);
    // A second dot at the start of a line only keeps it from being the end.
    const meant = `outer${end}${hidden}\r\n`.replaceAll('\r\n..', '\r\n.');
    if (out[0]) expect(out[0].data.toString()).toContain(meant);
  });

  it('with content that is sent together with DATA', async () => {
    const client = await connect(scene, 'tls');
    await logIn(client, team.key);
    const envelope = `MAIL FROM:<${from}>\r\nRCPT TO:<b@example.org>\r\nDATA\r\n`;
    client.send(`${envelope}From: ${from}\r\nSubject: at once\r\n\r\n${hiddenMessage(from, 'h@example.net')}\r\n.\r\n`);
    const replies: string[] = [];
    for (let n = 0; n < 4; n++) replies.push((await client.reply()).join('\n').slice(0, 3));
    expect(replies).toEqual(['250', '250', '354', '250']);
    client.end();
    expect((await left()).map(({ rcptTo }) => rcptTo)).toEqual([['b@example.org']]);
  });

  it('with content after a DATA that was refused', async () => {
    const client = await connect(scene, 'tls');
    await logIn(client, team.key);
    client.send(`MAIL FROM:<${from}>\r\nDATA\r\nFrom: ${from}\r\nSubject: x\r\n\r\nx\r\n.\r\nQUIT\r\n`);
    await client.over();
    expect(await left()).toEqual([]);
  });
});

describe('input in clear text before a handshake is ignored:', () => {
  it.each([
    ['a login', () => `AUTH PLAIN ${Buffer.from(`\0rasket\0${team.key}`).toString('base64')}\r\n`],
    ['a whole message', () => `EHLO x\r\n${hiddenMessage(from, 'b@example.org')}\r\n.\r\n`],
  ])('%s', async (_, words) => {
    const client = await openDialogue(findPort(scene, 'starttls'));
    await client.hear();
    await client.say('EHLO client.example');
    client.send(`STARTTLS\r\n${words()}`);
    expect(await client.hear()).toMatch(/^220 /);
    const isSecure = await client.startTls().then(
      () => true,
      () => false,
    );
    if (isSecure) {
      await client.say('EHLO client.example');
      expect(await client.say(`MAIL FROM:<${from}>`)).toMatch(/^530 /);
    }
    client.end();
    expect(await left()).toEqual([]);
  });
});

describe('nobody sends without a login', () => {
  it.each(['starttls', 'tls'] as const)('over %s', async (way) => {
    const client = await connect(scene, way);
    await client.say('EHLO client.example');
    expect(await client.say(`MAIL FROM:<${from}>`)).toMatch(/^530/);
    expect(await client.say('RCPT TO:<b@example.org>')).toMatch(/^5/);
    expect(await client.say('DATA')).toMatch(/^5/);
    client.end();
    expect(await left()).toEqual([]);
  });

  it.each([
    ['a stranger’s domain', 'ceo@example.com', 'ceo@example.com'],
    ['From of a stranger behind an own envelope', '', 'ceo@example.com'],
    ['From with two addresses', '', 'OWN, ceo@example.com'],
    ['From in a group', '', 'x: ceo@example.com;'],
    ['From with a second line', '', 'OWN\r\nFrom: ceo@example.com'],
    ['From with an own address as a name', '', '"OWN" <ceo@example.com>'],
    ['From with a comment', '', 'ceo@example.com (OWN)'],
    ['From with a quoted local part', '', '"OWN"@example.com'],
    ['From with a route', '', '<@OWNDOMAIN:ceo@example.com>'],
    ['From in an encoded word', '', '=?utf-8?q?OWN?= <ceo@example.com>'],
    ['two angle forms in From', '', '<OWN> <ceo@example.com>'],
    ['two angle forms in From, the other way round', '', '<ceo@example.com> <OWN>'],
    ['From with an address as its name', '', 'ceo@example.com <OWN>'],
    ['From with an own address as its name', '', 'OWN <ceo@example.com>'],
    ['From with a comment that is an address', '', 'OWN (ceo@example.com)'],
    ['From in a group, of an own address', '', 'ceo@example.com: OWN;'],
    ['From with a quote that is never closed', '', '"ceo@example.com <OWN>'],
    ['From with brackets in an encoded word', '', '=?utf-8?q?<ceo@example.com>?= <OWN>'],
    ['From with a NUL', '', 'ceo@example.com\0@OWNDOMAIN'],
    ['a subdomain of a domain that ends alike', '', 'a@x-OWNDOMAIN'],
  ])('or as somebody else: %s', async (_, envelope, written) => {
    const client = await connect(scene, 'tls');
    await logIn(client, team.key);
    const filled = written.replaceAll('OWNDOMAIN', from.split('@')[1] ?? '').replaceAll('OWN', from);
    const replies = [await client.say(`MAIL FROM:<${envelope === '' ? from : envelope}>`)];
    replies.push(await client.say('RCPT TO:<b@example.org>'), await client.say('DATA'));
    client.send(`From: ${filled}\r\nSubject: x\r\n\r\nx\r\n.\r\n`);
    replies.push((await client.reply()).join('\n'));
    client.end();
    expect(replies.at(-1)).toMatch(/^5/);
    expect(await left()).toEqual([]);
  });
});
