import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { bringMail, callMx, dotted, createReceivingDomain } from '../rig/mx.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import type { Dialogue } from '../rig/smtp-dialogue.ts';
import { plainToken } from './dialogue.ts';

// Its ports are one for both doors, so that nobody has to log in.
const roles = ['http', 'submission', 'receiving'] as const;
let scene: Scene;
let key: string;
let to: string;
beforeAll(async () => {
  scene = await startScene({ roles, networkWaits: 'by hand' });
  const team = await scene.team();
  key = team.key;
  to = `b@${(await createReceivingDomain(scene, team)).name}`;
});
afterAll(() => scene.close());

async function greeted(on = scene): Promise<Dialogue> {
  const client = await callMx(on);
  expect(await client.hear()).toMatch(/^220 /);
  return client;
}

async function encrypted(): Promise<Dialogue> {
  const client = await greeted();
  await client.say('EHLO client.example');
  await client.say('STARTTLS');
  await client.startTls();
  await client.say('EHLO client.example');
  return client;
}

const STATES: { state: string; open: () => Promise<Dialogue>; next: string; answer: RegExp }[] = [
  { state: 'the greeting', open: greeted, next: 'EHLO client.example', answer: /^250/ },
  {
    state: 'a sender',
    open: async () => {
      const client = await greeted();
      await client.say('EHLO client.example');
      await client.say('MAIL FROM:<a@example.org>');
      return client;
    },
    next: 'RSET',
    answer: /^250 /,
  },
  { state: 'a handshake', open: encrypted, next: 'NOOP', answer: /^250 / },
  {
    state: 'a question of AUTH',
    open: async () => {
      const client = await encrypted();
      expect(await client.say('AUTH LOGIN')).toMatch(/^334 /);
      return client;
    },
    next: Buffer.from('rasket').toString('base64'),
    answer: /^334 /,
  },
  {
    state: 'a login',
    open: async () => {
      const client = await encrypted();
      expect(await client.say(`AUTH PLAIN ${plainToken(key)}`)).toMatch(/^235 /);
      return client;
    },
    next: 'NOOP',
    answer: /^250 /,
  },
];

describe('a command that arrives byte by byte', () => {
  it.each(STATES)('after $state has five minutes, and no more', async ({ open, next, answer }) => {
    const client = await open();
    for (const byte of next.slice(0, 3)) {
      client.send(byte);
      scene.clock.advance(99_000);
    }
    expect(await client.say(next.slice(3))).toMatch(answer);
    for (const byte of next.slice(0, 3)) {
      client.send(byte);
      scene.clock.advance(100_000);
    }
    expect(await client.hear()).toBe('421 4.4.2 No command was received for 300 s; connect again when there is mail');
    expect(await client.hear()).toBe('closed');
  });

  it('does not extend a TLS handshake, and the server continues to work', async () => {
    const client = await greeted();
    await client.say('EHLO client.example');
    await client.say('STARTTLS');
    // The beginning of a record that is never whole.
    client.send(Buffer.from('1603010200', 'hex'));
    scene.clock.advance(300_000);
    expect(await client.hear()).toBe('closed');
    expect(await bringMail(scene, { to: [to], raw: 'From: a@example.org\r\n\r\nx\r\n' })).toMatch(/^250 /);
  });

  it('is not limited by the time the server needs for a message', async () => {
    const client = await greeted();
    await client.say('EHLO client.example');
    for (let n = 0; n < 2; n++) {
      await client.say('MAIL FROM:<a@example.org>');
      await client.say(`RCPT TO:<${to}>`);
      scene.clock.advance(290_000);
      expect(await client.say('DATA')).toMatch(/^354 /);
      scene.clock.advance(50_000);
      expect(await client.say(dotted('From: a@example.org\r\n\r\nx\r\n'))).toMatch(/^250 /);
    }
    client.end();
  });
});

it('a client that hangs up in its message leaves one plain line in the log', async () => {
  const client = await encrypted();
  await client.say(`AUTH PLAIN ${plainToken(key)}`);
  await client.say(`MAIL FROM:<${to}>`);
  await client.say('RCPT TO:<someone@example.net>');
  const before = scene.log.length;
  expect(await client.say('DATA')).toMatch(/^354 /);
  client.send('From: ');
  client.end();
  const lines = (): Record<string, unknown>[] =>
    scene.log.slice(before).map((line) => JSON.parse(line) as Record<string, unknown>);
  const told = () => lines().filter(({ level, msg }) => Number(level) >= 40 || msg === 'submission refused');
  await vi.waitFor(() => expect(told()).not.toEqual([]));
  expect(told()).toMatchObject([
    { msg: 'submission refused', reason: '4.4.2 The client disconnected before the end of its message' },
  ]);
});

it('a repeated recipient counts once, and after 10,000 times like any other command', async () => {
  const client = await greeted();
  await client.say('EHLO client.example');
  await client.say('MAIL FROM:<a@example.org>');
  const count = 10_000 + 99;
  client.send(`RCPT TO:<${to}>\r\n`.repeat(count));
  const replies = new Map<string, number>();
  for (let n = 0; n < count; n++) {
    const reply = await client.hear();
    replies.set(reply.slice(0, 3), (replies.get(reply.slice(0, 3)) ?? 0) + 1);
    if (!reply.startsWith('421')) continue;
    expect(reply).toMatch(/^421 4\.7\.0 No message was sent within 100 commands/);
    break;
  }
  // The greeting, EHLO and MAIL are commands too.
  expect(Object.fromEntries(replies)).toEqual({ 250: 10_000 + 98, 421: 1 });
  expect(await client.hear()).toBe('closed');
});

describe('while connections are short,', () => {
  let small: Scene;
  let greedy: Dialogue[];
  let honest: Dialogue;
  // Ports for the world have six of eight; more than four of them are too many.
  beforeAll(async () => {
    const config = { smtp: { host: '127.0.0.1', max_connections: 8, idle_seconds: 300 } };
    small = await startScene({ roles, config, networkWaits: 'by hand' });
  });
  afterAll(() => small.close());
  const fill = async (): Promise<void> => {
    greedy = [];
    for (let n = 0; n < 5; n++) greedy.push(await greeted(small));
    honest = await greeted(small);
    const late = await callMx(small);
    expect(await late.hear()).toBe('421 4.3.2 Too many connections; try again in a minute');
  };
  const leave = async (): Promise<void> => {
    for (const client of [...greedy, honest]) client.end();
    await vi.waitFor(async () => (await greeted(small)).end());
  };
  const stillThere = (): number => greedy.filter((client) => client.isOpen()).length;

  it('clients without a command for 20 seconds are closed, no more than necessary, and another client gets in', async () => {
    await fill();
    for (const client of greedy) client.send('N');
    small.clock.advance(10_000);
    expect(await honest.say('NOOP')).toMatch(/^250 /);
    for (const client of greedy) client.send('O');
    small.clock.advance(10_000);
    for (const client of greedy.slice(0, 2)) {
      expect(await client.hear()).toBe(
        '421 4.3.2 Many clients are waiting for a connection, and this one was idle; connect again when there is mail',
      );
      expect(await client.hear()).toBe('closed');
    }
    small.clock.advance(100_000);
    expect([stillThere(), honest.isOpen()]).toEqual([3, true]);
    await vi.waitFor(async () => (await greeted(small)).end());
    await leave();
  });

  it('a client without a message for two minutes is closed, whatever it sends', async () => {
    await fill();
    const own = await small.team();
    const { name } = await createReceivingDomain(small, own);
    await honest.say('EHLO mx.example.org');
    for (let seconds = 0; seconds < 150 && stillThere() > 3; seconds += 10) {
      if (seconds === 60) {
        await honest.say('MAIL FROM:<a@example.org>');
        await honest.say(`RCPT TO:<b@${name}>`);
        await honest.say('DATA');
        expect(await honest.say(dotted('From: a@example.org\r\n\r\nx\r\n'))).toMatch(/^250 /);
      }
      for (const client of [...greedy, honest]) if (client.isOpen()) await client.say('NOOP');
      if (seconds < 110) expect(stillThere()).toBe(5);
      small.clock.advance(10_000);
    }
    expect([stillThere(), await honest.say('NOOP')]).toEqual([3, '250 2.0.0 OK']);
    await leave();
  });
});
