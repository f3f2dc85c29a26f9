import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nextTurn } from '../../src/platform/clock.ts';
import { scaled } from '../rig/scale.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { connect, logIn, submit, type Dialogue } from './dialogue.ts';

const RUNS = scaled(60);
let scene: Scene;
let team: Team;
let from: string;

beforeAll(async () => {
  scene = await startScene({
    roles: ['http', 'submission'],
    config: {
      submission: {
        ports: [0],
        tls_ports: [],
        insecure_login: true,
        messages_per_minute_per_key: 10_000_000,
        messages_per_minute_per_team: 10_000_000,
      },
    },
  });
  team = await scene.team();
  from = `me@${(await team.domain()).name}`;
});
afterAll(() => scene.close());

/** The states that a dialogue can be in, each reached by what is said before. */
const states: Record<string, (client: Dialogue) => Promise<unknown>> = {
  greeted: () => Promise.resolve(),
  'said EHLO': (client) => client.say('EHLO client.example'),
  'in a login': async (client) => {
    await client.say('EHLO client.example');
    await client.say('AUTH LOGIN');
  },
  'logged in': (client) => logIn(client, team.key),
  'after MAIL': async (client) => {
    await logIn(client, team.key);
    await client.say(`MAIL FROM:<${from}>`);
  },
  'after RCPT': async (client) => {
    await logIn(client, team.key);
    await client.say(`MAIL FROM:<${from}>`);
    await client.say('RCPT TO:<someone@example.net>');
  },
  'in content': async (client) => {
    await logIn(client, team.key);
    await client.say(`MAIL FROM:<${from}>`);
    await client.say('RCPT TO:<someone@example.net>');
    await client.say('DATA');
  },
};

/** Answers to failed logins are held back, by the clock; nothing else may need it to move. */
async function heardOut(client: Dialogue): Promise<void> {
  const refused = (): number => scene.log.filter((entry) => entry.includes('smtp login refused')).length;
  for (let seen = 0; !client.isOver; await nextTurn()) {
    if (refused() === seen) continue;
    seen = refused();
    scene.clock.advance(8000);
  }
}

const word = fc.constantFrom(
  'EHLO x',
  'HELO',
  'AUTH PLAIN',
  'AUTH LOGIN AA==',
  'MAIL FROM:<a@b.example>',
  'MAIL FROM:<>',
  'RCPT TO:<x@y.example>',
  'RCPT TO:<',
  'DATA',
  'DATA x',
  '.',
  '..',
  'RSET',
  'NOOP x',
  'QUIT',
  'VRFY',
  'HELP',
  'BDAT 5',
  '*',
  '',
  ' ',
  'From: a@b.example',
  'MAIL FROM:<a@b.example> SIZE=99999999999',
  'RCPT TO:<"a b"@x.example>',
  '__proto__',
  'constructor x',
  '\0',
  '\xff\xfe',
);
const line = fc.oneof(
  { weight: 4, arbitrary: word },
  { weight: 1, arbitrary: fc.string({ maxLength: 40, unit: 'binary' }) },
);
const end = fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r', '');
const speech = fc.array(fc.tuple(line, end), { minLength: 1, maxLength: 12 }).map((all) => all.flat().join(''));

it.each(Object.keys(states))(
  'in the state %s the server replies to any input or hangs up, and accepts mail from the next client',
  async (state) => {
    await fc.assert(
      fc.asyncProperty(speech, fc.nat(), async (said, at) => {
        const client = await connect(scene, 'plain');
        await states[state]?.(client);
        const bytes = Buffer.from(said, 'latin1');
        const cut = at % (bytes.length + 1);
        client.send(bytes.subarray(0, cut));
        client.send(bytes.subarray(cut));
        // Ends content and a line, wherever the dialogue is, and must then be heard out.
        client.send('\r\n.\r\nQUIT\r\nQUIT\r\nQUIT\r\n');
        await heardOut(client);
        client.end();
      }),
      { numRuns: Math.ceil(RUNS / Object.keys(states).length) },
    );
    const next = await connect(scene, 'plain');
    await logIn(next, team.key);
    const content = `From: ${from}\r\n\r\nafter ${state}\r\n`;
    expect(await submit(next, { from, to: ['someone@example.net'], content })).toMatch(/^250 2\.6\.0 /);
    next.end();
    expect(scene.log.filter((entry) => entry.includes('an SMTP step failed'))).toEqual([]);
  },
);

it('a message of arbitrary bytes is accepted or refused, and accepted ones are stored', async () => {
  const client = await connect(scene, 'plain');
  await logIn(client, team.key);
  const pieces = fc.constantFrom(
    'From: {from}\r\n',
    'Subject: x\r\n',
    '\r\n',
    'Content-Type: multipart/mixed; boundary=b\r\n',
    '--b\r\n',
    '--b--\r\n',
    'Content-Type: text/html\r\n',
    'Content-Transfer-Encoding: base64\r\n',
    '=?utf-8?q?=ZZ?=\r\n',
    ' folded\r\n',
    ':\r\n',
    '=\r\n',
    'To: a, b <c@d.example>;\r\n',
    'X-Rasket-Tag: a=b\r\n',
    'text\r\n',
    '\xe9\r\n',
    'Received: x\r\n',
    'Cc: "\r\n',
  );
  const message = fc.array(pieces, { maxLength: 20 }).map((all) => `From: {from}\r\n${all.join('')}`);
  await fc.assert(
    fc.asyncProperty(message, async (text) => {
      const content = Buffer.from(text.replaceAll('{from}', from), 'latin1');
      const reply = await submit(client, { from, to: ['someone@example.net'], content });
      const id = /^250 2\.6\.0 Accepted as (\S+)$/.exec(reply)?.[1];
      if (id === undefined) expect(reply).toMatch(/^550 5\.6\.0 /);
      else expect((await scene.api('GET', `/emails/${id}`, { key: team.key })).status).toBe(200);
    }),
    { numRuns: RUNS },
  );
  client.end();
  expect(scene.log.filter((entry) => entry.includes('an SMTP step failed'))).toEqual([]);
});
