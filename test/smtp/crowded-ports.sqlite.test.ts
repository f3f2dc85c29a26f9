import net from 'node:net';
import tls from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import { dotted, mxPort, createReceivingDomain } from '../rig/mx.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { openDialogue, type Dialogue as Plain } from '../rig/smtp-dialogue.ts';
import { Dialogue, logIn, findPort } from './dialogue.ts';

const MAKES_WAY =
  '421 4.3.2 Many clients are waiting for a connection, and your address has the most open; connect again in a minute';
const FULL = '421 4.3.2 Too many connections; try again in a minute';
/** A kind of port has twelve of sixteen connections; four addresses of unauthenticated clients take them all. */
const STRANGERS = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];
const PER_ADDRESS = 4;
const VISITOR = '127.0.0.9';
const VISITS = 30;

const crowded = (): Promise<Scene> =>
  startScene({
    roles: ['http', 'submission', 'receiving'],
    networkWaits: 'by hand',
    config: { smtp: { host: '127.0.0.1', max_connections: 16, max_connections_per_address: PER_ADDRESS } },
  });

let crowd: Crowd | undefined;
afterEach(() => crowd?.leave());

interface Crowd {
  /** Returns how many connections of unauthenticated clients were ended. */
  ended(): number;
  leave(): Promise<void>;
}

/** Opens as many unauthenticated connections as it gets, says nothing on them, and opens another as soon as one is ended. */
async function besiege(port: number): Promise<Crowd> {
  let ended = 0;
  let isOver = false;
  const sockets = new Set<net.Socket>();
  const arrived: Promise<void>[] = [];
  const call = (localAddress: string): Promise<void> =>
    new Promise((connected) => {
      const socket = net.connect({ port, host: '127.0.0.1', localAddress }, connected);
      sockets.add(socket);
      socket.resume().on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        ended++;
        if (!isOver) void call(localAddress);
      });
    });
  for (let n = 0; n < PER_ADDRESS; n++) arrived.push(...STRANGERS.map(call));
  await Promise.all(arrived);
  return {
    ended: () => ended,
    async leave() {
      isOver = true;
      await Promise.all([...sockets].map((socket) => new Promise((gone) => socket.once('close', gone).destroy())));
    },
  };
}

async function visit(port: number): Promise<Plain> {
  const client = await openDialogue(port, '127.0.0.1', VISITOR);
  expect(await client.hear()).toMatch(/^220 /);
  return client;
}

async function encrypted(port: number): Promise<Dialogue> {
  const plain = net.connect({ port, host: '127.0.0.1', localAddress: VISITOR });
  const socket = tls.connect({ socket: plain, rejectUnauthorized: false });
  await new Promise<void>((done, fail) => socket.once('secureConnect', done).once('error', fail).once('close', fail));
  const client = new Dialogue(socket);
  expect(await client.line()).toMatch(/^220 /);
  return client;
}

it('untrusted clients that use all connections of the receiving port keep neither mail nor a login out', async () => {
  await using scene = await crowded();
  const team = await scene.team();
  const to = `b@${(await createReceivingDomain(scene, team)).name}`;
  const port = mxPort(scene);
  crowd = await besiege(port);
  for (let n = 0; n < VISITS; n++) {
    const server = await visit(port);
    expect(await server.say('EHLO mx.example.org')).toMatch(/^250/);
    expect(await server.say('MAIL FROM:<a@example.org>')).toMatch(/^250 /);
    expect(await server.say(`RCPT TO:<${to}>`)).toMatch(/^250 /);
    expect(await server.say('DATA')).toMatch(/^354 /);
    expect(await server.say(dotted('From: a@example.org\r\n\r\nx\r\n'))).toMatch(/^250 /);
    const program = await visit(port);
    await program.say('EHLO client.example');
    await program.say('STARTTLS');
    await program.startTls();
    await program.say('EHLO client.example');
    const token = Buffer.from(`\0rasket\0${team.key}`).toString('base64');
    expect(await program.say(`AUTH PLAIN ${token}`)).toBe('235 2.7.0 Logged in');
    server.end();
    program.end();
  }
  expect(crowd.ended()).toBeGreaterThan(0);
});

it('untrusted clients that start handshakes on a port with implicit TLS keep no login out', async () => {
  await using scene = await crowded();
  const team = await scene.team();
  crowd = await besiege(findPort(scene, 'tls'));
  for (let n = 0; n < VISITS; n++) {
    const client = await encrypted(findPort(scene, 'tls'));
    expect(await logIn(client, team.key)).toBe('235 2.7.0 Logged in');
    client.end();
  }
  expect(crowd.ended()).toBeGreaterThan(0);
});

const PORT_FULL = 12;

/** Opens as many connections from one address as are asked for, and waits for their greetings. */
async function hold(scene: Scene, from: string, count: number): Promise<Plain[]> {
  const clients: Plain[] = [];
  for (let n = 0; n < count; n++) {
    const client = await openDialogue(mxPort(scene), '127.0.0.1', from);
    expect(await client.hear()).toMatch(/^220 /);
    expect(await client.say('EHLO mx.example.org')).toMatch(/^250/);
    clients.push(client);
  }
  return clients;
}

const endAll = (clients: readonly Plain[]): void => {
  for (const client of clients) client.end();
};

it('the oldest connection without a message is closed first, and a login, a message in progress and a delivered one stay', async () => {
  await using scene = await crowded();
  const team = await scene.team();
  const to = `b@${(await createReceivingDomain(scene, team)).name}`;
  const [program, brings, brought, idle] = (await hold(scene, '127.0.0.2', 4)) as [Plain, Plain, Plain, Plain];
  for (const client of [brings, brought]) {
    await client.say('MAIL FROM:<a@example.org>');
    await client.say(`RCPT TO:<${to}>`);
    expect(await client.say('DATA')).toMatch(/^354 /);
  }
  expect(await brought.say(dotted('From: a@example.org\r\n\r\nx\r\n'))).toMatch(/^250 /);
  await program.say('STARTTLS');
  await program.startTls();
  await program.say('EHLO client.example');
  const token = Buffer.from(`\0rasket\0${team.key}`).toString('base64');
  expect(await program.say(`AUTH PLAIN ${token}`)).toBe('235 2.7.0 Logged in');
  const others: Plain[] = [];
  for (const from of ['127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6']) others.push(...(await hold(scene, from, 2)));
  expect(others).toHaveLength(PORT_FULL - 4);
  // Without the login, the first address holds three and each other two.
  const [first] = await hold(scene, VISITOR, 1);
  expect([await idle.hear(), await idle.hear()]).toEqual([MAKES_WAY, 'closed']);
  const [second] = await hold(scene, VISITOR, 1);
  expect(await others[0]?.hear()).toBe(MAKES_WAY);
  // Now each address that may make way holds two at most, and so does the visitor's.
  const late = await openDialogue(mxPort(scene), '127.0.0.1', VISITOR);
  expect([await late.hear(), await late.hear()]).toEqual([FULL, 'closed']);
  expect(await brings.say(dotted('From: a@example.org\r\n\r\nx\r\n'))).toMatch(/^250 /);
  for (const client of [program, brought]) expect(await client.say('NOOP')).toMatch(/^250 /);
  const all = [program, brings, brought, ...others, first, second, late];
  endAll(all.filter((client) => client !== undefined));
});

it('content that is still arriving is closed when nothing else can be, and leaves no message', async () => {
  await using scene = await crowded();
  const team = await scene.team();
  const to = `b@${(await createReceivingDomain(scene, team)).name}`;
  const slow: Plain[] = [];
  for (const from of STRANGERS.slice(0, 3)) slow.push(...(await hold(scene, from, 4)));
  for (const client of slow) {
    await client.say('MAIL FROM:<a@example.org>');
    await client.say(`RCPT TO:<${to}>`);
    expect(await client.say('DATA')).toMatch(/^354 /);
    client.send('From: a@example.org\r\n');
  }
  const [visitor] = await hold(scene, VISITOR, 1);
  expect(await slow[0]?.hear()).toBe(MAKES_WAY);
  expect(await visitor?.say('NOOP')).toMatch(/^250 /);
  const stored = await scene.api('GET', '/emails/receiving', { key: team.key });
  expect(stored.body.data).toEqual([]);
  endAll([...slow, ...(visitor ? [visitor] : [])]);
});
