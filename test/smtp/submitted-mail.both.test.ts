import { Resolver } from 'node:dns/promises';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY, removeExpired } from '../flow/expiry.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import type { SinkMessage } from '../rig/sink.ts';
import { connect, logIn, submit, type Dialogue } from './dialogue.ts';

// The verifier has no types for this module.
const { dkimVerify } = createRequire(import.meta.url)('mailauth/lib/dkim/verify') as {
  dkimVerify: (
    message: Buffer,
    options: { resolver: (name: string, type: string) => Promise<string[][]> },
  ) => Promise<{ results: { status: { result: string }; signingDomain: string }[] }>;
};

let scene: Scene;
let team: Team;
let domain: { id: string; name: string };
let from: string;
let client: Dialogue;

beforeAll(async () => {
  scene = await startScene({
    roles: ['http', 'delivery', 'submission'],
    sink: { smtpUtf8: true },
    // Links of what does not leave the machine lead to it; here they lead to a host of the domain.
    config: { tracking: { scheme: 'http' } },
  });
  team = await scene.team();
  domain = await team.domain();
  from = `me@${domain.name}`;
  client = await connect(scene, 'tls');
  await logIn(client, team.key);
});
afterAll(async () => {
  client.end();
  await scene.close();
});

const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n`;

const idIn = (reply: string): string => /^250 2\.6\.0 Accepted as ([0-9a-f-]{36})$/.exec(reply)?.[1] ?? reply;

/** Submits, delivers, and answers what reached the sink. */
async function send(
  content: string | Buffer,
  to = ['someone@example.net'],
): Promise<{ id: string; got: SinkMessage[] }> {
  const before = scene.sink.messages.length;
  const id = idIn(await submit(client, { from, to, content }));
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  await scene.settled();
  return { id, got: scene.sink.messages.slice(before) };
}

async function read(id: string) {
  return (await scene.api('GET', `/emails/${id}`, { key: team.key })).body;
}

/** Returns the message after the signatures and the Received line, which are ours. */
function unsigned(message: SinkMessage | undefined): string {
  const text = message?.data.toString('latin1') ?? '';
  return text.replace(
    /^(DKIM-Signature: (?:[^\r]|\r\n[ \t])*\r\n)+Feedback-ID: [^\r]+\r\nReceived: by (?:[^\r]|\r\n[ \t])*\r\n/,
    '',
  );
}

async function isSigned(message: SinkMessage | undefined): Promise<string[]> {
  const dns = new Resolver();
  dns.setServers([scene.dns.server]);
  const { results } = await dkimVerify(message?.data ?? Buffer.alloc(0), { resolver: (name) => dns.resolveTxt(name) });
  return [...new Set(results.map(({ status, signingDomain }) => `${status.result} ${signingDomain}`))];
}

/** Folded, spaced and cased in every way that is allowed, with a part in another charset. */
function oddMessage(from: string): string {
  return lines(
    'Received: from app by relay',
    'MIME-Version: 1.0',
    `from:   "Example, Zo\u00eb" <${from}>`,
    'To: Ann <someone@example.net>,',
    '\tbob@example.org, not.in.the@envelope.example',
    'Cc: cc@example.net',
    'Reply-To: =?utf-8?q?R=C3=A9?= <reply@example.org>',
    'SUBJECT: =?utf-8?q?Gr=C3=BC=C3=9Fe?= to',
    ' you',
    'Date:  Mon, 01 Jan 2024 00:00:00 +0100',
    'Message-ID: <mine@client.example>',
    'X-Empty:',
    'Content-Type: multipart/alternative; boundary="b"',
    '',
    'preamble',
    '--b',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'plain =C3=A9 ',
    '.',
    '..',
    '--b',
    'Content-Type: text/html; charset=iso-8859-1',
    'Content-Transfer-Encoding: 8bit',
    '',
    '<p>\u00e9</p>',
    '--b--',
  );
}

describe('a submitted message', () => {
  it('is sent byte for byte, signed, and can be read like any other', async () => {
    const content = oddMessage(from);
    const stuffed = content.replaceAll('\r\n.', '\r\n..');
    // The head is UTF-8, the HTML is not.
    const [head = '', body = ''] = [
      stuffed.slice(0, stuffed.indexOf('\r\n\r\n')),
      stuffed.slice(stuffed.indexOf('\r\n\r\n')),
    ];
    const bytes = Buffer.concat([Buffer.from(head, 'utf8'), Buffer.from(body, 'latin1')]);
    const { id, got } = await send(bytes, [
      'someone@example.net',
      'bob@example.org',
      'cc@example.net',
      'hidden@example.net',
    ]);
    expect(got).toHaveLength(2);
    const sent = Buffer.concat([
      Buffer.from(content.slice(0, content.indexOf('\r\n\r\n')), 'utf8'),
      Buffer.from(content.slice(content.indexOf('\r\n\r\n')), 'latin1'),
    ]);
    for (const message of got) {
      expect(unsigned(message)).toBe(sent.toString('latin1'));
      expect(message.data.toString()).toContain(`\r\nReceived: by rasket.test with ESMTPSA id ${id};\r\n `);
      expect(await isSigned(message)).toEqual([`pass ${domain.name}`]);
    }
    expect(got.flatMap(({ rcptTo }) => rcptTo).sort()).toEqual(
      ['someone@example.net', 'bob@example.org', 'cc@example.net', 'hidden@example.net'].sort(),
    );
    expect(got[0]?.mailFrom).not.toBe(from);
    expect(await read(id)).toMatchObject({
      from: `"Example, Zo\u00eb" <${from}>`,
      to: ['Ann <someone@example.net>', 'bob@example.org'],
      cc: ['cc@example.net'],
      bcc: ['hidden@example.net'],
      reply_to: ['R\u00e9 <reply@example.org>'],
      subject: 'Gr\u00fc\u00dfe to you',
      text: 'plain \u00e9\r\n.\r\n..',
      html: '<p>\u00e9</p>',
      message_id: '<mine@client.example>',
      last_event: 'delivered',
    });
    const { events } = await scene.account(team, id);
    expect(events.filter((type) => type !== 'email.delivered')).toEqual(['email.queued', 'email.sent']);
  });

  it('with a line that SMTP does not allow is refused, with its line number', async () => {
    const client = await connect(scene, 'tls');
    await logIn(client, team.key);
    const say = (content: string): Promise<string> => submit(client, { from, to: ['someone@example.net'], content });
    const head = `From: ${from}\r\nSubject: x\r\n`;
    const fits = 'x'.repeat(998);
    expect(await say(`${head}X-Long: ${fits.slice(8)}\r\n\r\n${fits}\r\n..${fits.slice(1)}\r\n`)).toMatch(/^250 /);
    const refused = (line: number, bytes: number): string =>
      `550 5.6.0 The message cannot be sent: line ${line} has ${bytes} bytes, and SMTP carries 998; encode its part as quoted-printable or base64, or fold the header.`;
    expect(await say(`${head}\r\n${fits}x\r\n`)).toBe(refused(4, 999));
    expect(await say(`${head}X-Long: ${fits}\r\n\r\nx\r\n`)).toBe(refused(3, 1006));
    // Over many pieces, the first that is too long counts.
    expect(await say(`${head}\r\nshort\r\n${'é'.repeat(400_000)}\r\n${fits}xx\r\n`)).toBe(refused(5, 800_000));
    client.end();
  });

  it.each([
    ['mine@client.example', '<mine@client.example>'],
    ['<mine@client.example> (of ours)', '<mine@client.example>'],
    ['< mine @client.example >', '<mine@client.example>'],
    ['<>', ''],
  ])('keeps a Message-ID in another form, and shows it in brackets: %s', async (written, shown) => {
    const { id, got } = await send(lines(`From: ${from}`, `Message-ID: ${written}`, 'Subject: x', '', 'text'));
    expect(unsigned(got[0])).toContain(`\r\nMessage-ID: ${written}\r\n`);
    expect(await read(id)).toMatchObject({ message_id: shown });
  });

  it('gets a missing Date and Message-ID, and loses headers that are not for its readers', async () => {
    const { id, got } = await send(
      lines(
        'Bcc: secret@example.net',
        `From: ${from}`,
        'Return-Path: <x@example.net>',
        'Authentication-Results: bank.example; dkim=pass',
        'Rasket-Idempotency-Key: lost-headers',
        'X-Rasket-Tag: campaign=spring',
        'X-RASKET-TAG: kind=a_1-b',
        'Message-ID: ',
        'Resent-Bcc: other@example.net',
        'Subject: x',
        '',
        'text',
      ),
    );
    const [head = '', body] = unsigned(got[0]).split('\r\n\r\n');
    expect(head.split('\r\n')).toEqual([
      `From: ${from}`,
      'Subject: x',
      `Message-ID: <${id}@${domain.name}>`,
      expect.stringMatching(/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/),
    ]);
    expect(body).toBe('text\r\n');
    expect(await read(id)).toMatchObject({
      tags: [
        { name: 'campaign', value: 'spring' },
        { name: 'kind', value: 'a_1-b' },
      ],
      to: [],
      bcc: ['someone@example.net'],
    });
  });

  it.each([
    { why: 'a bare LF', body: 'a\nb\r\n', says: 'line 3 has a LF that is not part of a CRLF' },
    { why: 'a bare CR', body: 'a\rb\r\n', says: 'line 3 has a CR that is not part of a CRLF' },
    { why: 'a message smuggled behind LF.LF', body: 'a\n.\nMAIL FROM:<x@y.example>\r\n', says: 'line 3 has a LF' },
    { why: 'a message smuggled behind LF.CRLF', body: 'a\n.\r\nMAIL FROM:<x@y.example>\r\n', says: 'line 3 has a LF' },
    { why: 'a message smuggled behind CR.CR', body: 'a\r.\rMAIL FROM:<x@y.example>\r\n', says: 'line 3 has a CR' },
    { why: 'NUL', body: 'a\0b\r\n', says: 'it has a NUL byte' },
  ])('with $why is refused as a whole', async ({ body, says }) => {
    const reply = await submit(client, { from, to: ['x@example.net'], content: `From: ${from}\r\n\r\n${body}` });
    expect(reply).toContain(`550 5.6.0 The message cannot be sent: ${says}`);
    expect(await client.say('NOOP')).toMatch(/^250 /);
  });

  it('is sent once under one idempotency key, with the same reply', async () => {
    const content = (date: string, text: string): string =>
      lines(`From: ${from}`, `Date: ${date}`, 'Resend-Idempotency-Key: order-1', '', text);
    const first = await send(content('Mon, 01 Jan 2024 00:00:00 +0000', 'hello'));
    const again = await send(content('Mon, 01 Jan 2024 00:00:01 +0000', 'hello'));
    expect(again).toEqual({ id: first.id, got: [] });
    expect(first.got).toHaveLength(1);
    const other = await submit(client, { from, to: ['someone@example.net'], content: content('x', 'bye') });
    expect(other).toMatch(/^550 5\.7\.1 This Idempotency-Key was used with a different request/);
    // A client that has more recipients than one transaction takes says the same to the next ones.
    const next = await send(content('Mon, 01 Jan 2024 00:00:00 +0000', 'hello'), ['more@example.net']);
    expect(next.id).not.toBe(first.id);
    expect(next.got).toHaveLength(1);
  });

  it('with other files is a different request under one idempotency key, however its parts are encoded', async () => {
    const content = (boundary: string, encoding: string, file: string): string =>
      lines(
        `From: ${from}`,
        'Rasket-Idempotency-Key: invoice-1',
        `Content-Type: multipart/mixed; boundary=${boundary}`,
        '',
        `--${boundary}`,
        '',
        'Your invoice',
        `--${boundary}`,
        'Content-Type: application/pdf; name=a.pdf',
        `Content-Transfer-Encoding: ${encoding}`,
        '',
        file,
        `--${boundary}--`,
      );
    const first = await send(content('one', 'base64', 'JVBERi0xLjQ='));
    expect(await send(content('two', 'base64', 'JVBE\r\nRi0xLjQ='))).toEqual({ id: first.id, got: [] });
    const other = content('one', 'base64', 'JVBERi0xLjU=');
    expect(await submit(client, { from, to: ['someone@example.net'], content: other })).toMatch(
      /^550 5\.7\.1 This Idempotency-Key was used with a different request/,
    );
  });

  it('to a suppressed address is suppressed', async () => {
    await scene.api('POST', '/suppressions', { key: team.key, body: { email: 'gone@example.net' } });
    const { id, got } = await send(lines(`From: ${from}`, 'To: gone@example.net', '', 'x'), ['gone@example.net']);
    expect(got).toEqual([]);
    expect((await scene.account(team, id)).state).toBe('suppressed');
  });

  it('to a non-ASCII address is sent with SMTPUTF8', async () => {
    await client.say(`MAIL FROM:<${from}> SMTPUTF8 BODY=8BITMIME`);
    await client.say('RCPT TO:<jörg@example.net>');
    await client.say('DATA');
    client.send(Buffer.from(`From: ${from}\r\nTo: jörg@example.net\r\n\r\nhé\r\n.\r\n`));
    const id = idIn((await client.reply()).join());
    await scene.settled();
    expect((await scene.account(team, id)).state).toBe('delivered');
    expect(scene.sink.messages.at(-1)?.data.toString()).toContain('\r\n\r\nhé\r\n');
    expect((await read(id)).to).toEqual(['jörg@example.net']);
  });

  it('of some megabytes passes through the blob store with the same bytes', async () => {
    const body = `${'0123456789'.repeat(7)}\r\n`.repeat(60_000);
    const head = lines(
      `From: ${from}`,
      'Date: Mon, 01 Jan 2024 00:00:00 +0000',
      'Message-ID: <large@client.example>',
      'Content-Type: multipart/mixed; boundary=b',
    );
    const content = `${head}\r\n${lines('--b', '', 'the text', '--b', 'Content-Type: application/octet-stream', '')}${body}--b--\r\n`;
    const { id, got } = await send(content);
    expect(unsigned(got[0]) === content).toBe(true);
    expect(await isSigned(got[0])).toEqual([`pass ${domain.name}`]);
    expect((await read(id)).text).toBe('the text');
  });
});

describe('a submitted message of a tracking domain', () => {
  let tracked: { id: string; name: string };
  let host: string;
  beforeAll(async () => {
    tracked = await team.domain();
    const body = { open_tracking: true, click_tracking: true, tracking_subdomain: 'links' };
    await scene.api('PATCH', `/domains/${tracked.id}`, { key: team.key, body });
    host = `links.${tracked.name}`;
    scene.dns.set(host, 'CNAME', ['rasket.test']);
    scene.clock.advance(61_000);
    await scene.api('POST', `/domains/${tracked.id}/verify`, { key: team.key });
  });

  const html = (charset: string): string[] => [
    `Content-Type: text/html; charset=${charset}`,
    'Content-Transfer-Encoding: 8bit',
    '',
    '<p>\u00e9</p><a href="https://example.org/?a=1">here</a>',
  ];
  const head = (): string[] => [
    `From: me@${tracked.name}`,
    'Date: Mon, 01 Jan 2024 00:00:00 +0000',
    'Message-ID: <t@x.example>',
  ];

  it('has tracked links in its HTML, and is otherwise unchanged', async () => {
    const plain = ['Content-Type: text/plain', 'X-Odd:  kept ', '', 'https://example.org/ stays'];
    const content = lines(
      ...head(),
      'Content-Type: multipart/alternative; boundary=b',
      '',
      '--b',
      ...plain,
      '--b',
      ...html('iso-8859-1'),
      '--b--',
    );
    const { id, got } = await send(Buffer.from(content, 'latin1'));
    const text = unsigned(got[0]);
    expect(await isSigned(got[0])).toEqual([`pass ${tracked.name}`]);
    expect(
      text.startsWith(lines(...head(), 'Content-Type: multipart/alternative; boundary=b', '', '--b', ...plain)),
    ).toBe(true);
    expect(text.endsWith('\r\n--b--\r\n')).toBe(true);
    expect(text).not.toContain('href="https://example.org');
    const shown = text.replaceAll('=\r\n', '').replaceAll('=3D', '=');
    expect(shown).toContain(`href="http://${host}/c/`);
    expect(shown).toContain(`http://${host}/o/`);
    expect(shown).toContain('&#233;');
    expect((await read(id)).html).toBe('<p>\u00e9</p><a href="https://example.org/?a=1">here</a>');
  });

  it('has tracked links when it consists of HTML alone', async () => {
    const { got } = await send(Buffer.from(lines(...head(), ...html('utf-8'))));
    const text = unsigned(got[0]);
    expect(await isSigned(got[0])).toEqual([`pass ${tracked.name}`]);
    expect(text).toContain(`http://${host}/c/`);
    expect(text.match(/Content-Transfer-Encoding: /g)).toHaveLength(1);
  });

  it('is unchanged in its signed parts', async () => {
    const content = lines(
      ...head(),
      'Content-Type: multipart/signed; boundary=b',
      '',
      '--b',
      ...html('utf-8'),
      '--b--',
    );
    const { got } = await send(Buffer.from(content));
    expect(unsigned(got[0])).toBe(Buffer.from(content).toString('latin1'));
  });
});

it('the content a client composed is removed with its email at the end of the retention', async () => {
  const { id } = await send(lines(`From: ${from}`, 'To: someone@example.net', 'Subject: Old', '', 'Text'));
  const { db } = scene.app.world;
  const kept = async (): Promise<number> =>
    (await db.all('select 1 from email_messages where email_id = ?', [id])).length;
  expect(await kept()).toBe(1);
  scene.clock.advance(31 * DAY);
  await removeExpired(scene);
  expect(await kept()).toBe(0);
});
