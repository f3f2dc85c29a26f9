// Tests what a submitted message may contain, for rules that POST /emails has.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { connect, logIn, submit, type Dialogue } from './dialogue.ts';

let scene: Scene;
let team: Team;
let domain: { id: string; name: string };
let own: string;
let client: Dialogue;
beforeAll(async () => {
  scene = await startScene({ roles: ['http', 'delivery', 'submission'], sink: { smtpUtf8: true } });
  team = await scene.team();
  domain = await team.domain();
  own = `me@${domain.name}`;
  client = await connect(scene, 'tls');
  await logIn(client, team.key);
});
afterAll(async () => {
  client.end();
  await scene.close();
});

const message = (...headers: string[]): string => `${headers.join('\r\n')}\r\n\r\nHello\r\n`;
const send = (content: string): Promise<string> => submit(client, { from: own, to: ['a@example.net'], content });
const idIn = (reply: string): string => /^250 2\.6\.0 Accepted as ([0-9a-f-]{36})$/.exec(reply)?.[1] ?? reply;
const read = async (id: string) => (await scene.api('GET', `/emails/${id}`, { key: team.key })).body;

describe('the header From', () => {
  it.each([
    ['OWN', 'OWN'],
    ['<OWN>', 'OWN'],
    ['"Example, Inc." <OWN>', '"Example, Inc." <OWN>'],
    ['John Q. Public <OWN>', '"John Q. Public" <OWN>'],
    ['"Folded"\r\n\t<OWN>', 'Folded <OWN>'],
    ['OWN (Cron Daemon)', 'Cron Daemon <OWN>'],
    ['OWN <OWN>', 'OWN'],
    ['=?utf-8?Q?Gr=C3=BC=C3=9Fe,_?=\r\n =?utf-8?b?YWxsZQ==?= <OWN>', '"Grüße, alle" <OWN>'],
  ])('may be written %j', async (written, shown) => {
    const reply = await send(message(`From: ${written.replaceAll('OWN', own)}`));
    expect((await read(idIn(reply))).from).toBe(shown.replace('OWN', own));
  });

  it('without a mailbox is refused in one sentence that says what is right', async () => {
    expect(await send(message('From: App'))).toBe(
      '550 5.6.0 The message cannot be sent: its header From must be one mailbox, as in Name <local@example.com>. ' +
        'The address "App" has no @; write it as local@example.com.',
    );
  });

  it.each(['\u3002', '\uff0e', '\uff61'])(
    'with %s in its domain is refused, because not every reader takes it for a dot',
    async (dot) => {
      const written = domain.name.replaceAll('.', dot);
      expect(await send(message(`From: me@${written}`))).toBe(
        '550 5.6.0 The message cannot be sent: its header From must be one mailbox, as in Name <local@example.com>. ' +
          `Only some programs read the domain "${written}" as "${domain.name}"; write "${domain.name}".`,
      );
      const body = { from: `me@${written}`, to: 'a@example.net', subject: 'x', text: 'x' };
      expect(await scene.api('POST', '/emails', { key: team.key, body })).toMatchObject({ status: 200 });
      await scene.settled();
      expect(scene.sink.messages.at(-1)?.data.toString()).toContain(`\r\nFrom: ${own}\r\n`);
    },
  );

  it('must also be one mailbox for a reader that decodes its words first', async () => {
    expect(await send(message(`From: =?a?q?"?= <evil@example.org>, "=?a?q??= <${own}>`))).toBe(
      '550 5.6.0 The message cannot be sent: its header From must be one mailbox, as in Name <local@example.com>. ' +
        'A reader that decodes its encoded words (=?…?=) first would see another address; leave addresses out of the name.',
    );
  });
});

describe('the header Sender, with a key for one domain,', () => {
  let pinned: Dialogue;
  beforeAll(async () => {
    pinned = await connect(scene, 'tls');
    await logIn(pinned, await team.sendingKey({ domain_id: domain.id }));
  });
  afterAll(() => pinned.end());
  const submitAs = (sender: string): Promise<string> =>
    submit(pinned, { from: own, to: ['a@example.net'], content: message(`From: ${own}`, `Sender: ${sender}`) });

  it('may be of that domain', async () => {
    expect(await submitAs(`"App, Inc." <${own}>`)).toMatch(/^250 /);
  });

  it.each([
    ['another dot', () => own.replaceAll('.', '\u3002')],
    ['words that hide an address', () => `=?a?q?"?= <evil@example.org>, "=?a?q??= <${own}>`],
  ])('must be of that domain for every reader: %s', async (_, sender) => {
    expect(await submitAs(sender())).toMatch(/^550 5\.7\.1 .*headers\.Sender must be one address of that domain/);
  });
});

it('a folded Bcc is removed as a whole', async () => {
  const bcc = ['Bcc: one@example.net,', '\ttwo@example.net,\r\n three@example.net', ''].join('\r\n').trimEnd();
  expect(await send(message(`From: ${own}`, bcc, 'RESENT-BCC:', ' four@example.net', 'Subject: x'))).toMatch(/^250 /);
  await scene.settled();
  const sent = scene.sink.messages.at(-1)?.data.toString() ?? '';
  expect(sent).not.toMatch(/^(?:resent-)?bcc|(?:one|two|three|four)@/im);
  expect(sent).toContain(`\r\nFrom: ${own}\r\nSubject: x\r\n`);
});

// GitLab, Discourse and their like bring a way out of their own; the API has broadcasts for that, and refuses it.
it('the client’s own unsubscribe headers are kept', async () => {
  const headers = ['List-Unsubscribe: <https://example.org/u>', 'List-Unsubscribe-Post: List-Unsubscribe=One-Click'];
  expect(await send(message(`From: ${own}`, ...headers))).toMatch(/^250 /);
  await scene.settled();
  const sent = scene.sink.messages.at(-1)?.data.toString();
  for (const header of headers) expect(sent).toContain(`\r\n${header}\r\n`);
});

it.each(['delivery_notice', 'notice_of', 'inbound_rule', 'received_email'])(
  'the reserved tag %s is refused by the API and by SMTP',
  async (name) => {
    const says = `The tag ${name} is reserved for delivery notices and forwarded mail; choose another name.`;
    const body = { from: own, to: 'a@example.net', subject: 'x', text: 'x', tags: [{ name, value: 'x' }] };
    expect(await scene.api('POST', '/emails', { key: team.key, body })).toMatchObject({
      status: 400,
      body: { message: says, errors: [{ path: 'tags.0.name', message: says }] },
    });
    expect(await send(message(`From: ${own}`, `X-Rasket-Tag: ${name}=x`))).toBe(
      `550 5.6.0 The message cannot be sent: a header X-Rasket-Tag is not valid: ${says}`,
    );
  },
);

it('a quoted local part is kept', async () => {
  const to = '"a b"@example.net';
  const id = idIn(await submit(client, { from: own, to: [to], content: message(`From: ${own}`, `To: ${to}`) }));
  await scene.settled();
  expect(scene.sink.messages.at(-1)?.rcptTo).toEqual([to]);
  expect(await read(id)).toMatchObject({ to: [to], last_event: 'delivered' });
});

describe('under one idempotency key,', () => {
  let key = 0;
  beforeEach(() => void key++);
  const keyed = (...headers: string[]): string =>
    message(`From: ${own}`, `Rasket-Idempotency-Key: k${key}`, 'Subject: x', ...headers);
  const DIFFERENT = /^550 5\.7\.1 This Idempotency-Key was used with a different request/;

  it('headers that change with each attempt make no different request', async () => {
    const anew = (n: number): string[] => [
      `Date: Mon, 01 Jan 2024 00:00:0${n} +0000`,
      `Message-ID: <${n}@client.example>`,
      `Received: from app by relay${n}; Mon, 01 Jan 2024 00:00:0${n} +0000`,
      `Content-Type: text/plain; charset=utf-8; x-try=${n}`,
      `MIME-Version: 1.0${' '.repeat(n)}`,
    ];
    const first = await send(keyed(...anew(1), 'X-Order: a b', 'To: a@example.net'));
    expect(first).toMatch(/^250 /);
    expect(await send(keyed('To: a@example.net', ...anew(2), 'X-Order: a\r\n b'))).toBe(first);
  });

  it.each([
    ['another header', ['X-Order: 1'], ['X-Order: 2']],
    ['one header more', ['X-Order: 1'], ['X-Order: 1', 'X-Order: 1']],
    ['another To', ['To: a@example.net'], ['To: a@example.net, b@example.net']],
    ['another Sender', [], ['Sender: someone@example.org']],
    ['another tag', ['X-Rasket-Tag: a=1'], ['X-Rasket-Tag: a=2']],
  ])('%s makes a different request', async (_, before, after) => {
    expect(await send(keyed(...before))).toMatch(/^250 /);
    expect(await send(keyed(...after))).toMatch(DIFFERENT);
  });

  it('requested notices are part of the request', async () => {
    expect(await send(keyed())).toMatch(/^250 /);
    await client.say(`MAIL FROM:<${own}>`);
    await client.say('RCPT TO:<a@example.net> NOTIFY=SUCCESS');
    await client.say('DATA');
    client.send(`${keyed()}.\r\n`);
    expect((await client.reply()).join()).toMatch(DIFFERENT);
  });
});
