import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { setSending } from '../../src/tenancy/instance/index.ts';
import { administerTeam } from '../../src/tenancy/teams/index.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { makeCertificate } from '../rig/tls.ts';
import { connect, logIn, plainToken, findPort, submit, type Dialogue } from './dialogue.ts';

const roles = ['http', 'delivery', 'submission'] as const;
const clients: Dialogue[] = [];
let scene: Scene;
let team: Team;
let from: string;

async function open(on = scene, before = ''): Promise<Dialogue> {
  const client = await connect(on, 'tls', before);
  clients.push(client);
  return client;
}

async function greeted(on = scene): Promise<Dialogue> {
  const client = await open(on);
  await client.say('EHLO client.example');
  return client;
}

const loggedIn = async (key: string, on = scene): Promise<Dialogue> => {
  const client = await open(on);
  expect(await logIn(client, key)).toBe('235 2.7.0 Logged in');
  return client;
};

const message = (sender: string): string => `From: ${sender}\r\nSubject: x\r\n\r\nx\r\n`;
const send = (client: Dialogue, sender = from, content = message(sender)): Promise<string> =>
  submit(client, { from: sender, to: ['someone@example.net'], content });

const refusals = (on = scene): number => on.log.filter((line) => line.includes('smtp login refused')).length;

beforeAll(async () => {
  scene = await startScene({
    roles,
    config: {
      smtp: { host: '127.0.0.1', message_bytes: 65_536, max_connections_per_address: 100 },
      submission: { ports: [0], tls_ports: [0], failed_logins_max: 30 },
    },
  });
  team = await scene.team();
  from = `me@${(await team.domain()).name}`;
});
afterAll(async () => {
  for (const client of clients) client.end();
  await scene.close();
});

describe('an SMTP login', () => {
  it('has the user name rasket, resend or the id of the key, and no other', async () => {
    const made = await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'SMTP' } });
    const key = made.body.token as string;
    const id = made.body.id as string;
    for (const user of ['rasket', 'RASKET', 'resend', id]) {
      expect(await logIn(await open(), key, user)).toBe('235 2.7.0 Logged in');
    }
    expect(await logIn(await open(), key, 'admin')).toBe(
      '535 5.7.8 The user name must be "rasket", or the id of the API key',
    );
    scene.clock.advance(600_000);
  });

  it('with a wrong key is refused, slower each time, and the third ends the connection', async () => {
    const client = await greeted();
    const before = refusals();
    expect(await client.say(`AUTH PLAIN ${plainToken('rk_nobody')}`)).toBe('535 5.7.8 The API key is not valid.');
    for (const wanted of [
      '535 5.7.8 The API key is not valid.',
      '421 4.7.0 3 logins have failed; connect again with a valid API key',
    ]) {
      const seen = refusals();
      client.send(`AUTH PLAIN ${plainToken('rk_nobody')}\r\n`);
      await vi.waitFor(() => expect(refusals()).toBe(seen + 1));
      scene.clock.advance(2000);
      expect((await client.reply()).join()).toBe(wanted);
    }
    await client.over();
    expect(refusals()).toBe(before + 3);
    expect(scene.log.join()).not.toContain('rk_nobody');
    scene.clock.advance(600_000);
  });

  it('with a sending key can send, and with a key of one domain only from that domain', async () => {
    const other = await team.domain();
    const pinned = await team.sendingKey({ domain_id: other.id });
    const client = await loggedIn(pinned);
    expect(await send(client, `me@${other.name}`)).toMatch(/^250 /);
    expect(await send(client)).toMatch(/^550 5\.7\.1 This API key may only send from /);
    const speaks = `From: me@${other.name}\r\nSender: ceo@bank.example\r\n\r\nx\r\n`;
    expect(await send(client, `me@${other.name}`, speaks)).toMatch(/^550 5\.7\.1 This API key may only send from /);
  });

  it('ends with its key, so that the next message is refused', async () => {
    const made = await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Short' } });
    const client = await loggedIn(made.body.token as string);
    expect(await send(client)).toMatch(/^250 /);
    await scene.api('DELETE', `/api-keys/${made.body.id}`, { key: team.key });
    expect(await client.say(`MAIL FROM:<${from}>`)).toBe('535 5.7.8 This API key has been revoked.');
  });

  it('of a suspended team is refused', async () => {
    const own = await scene.team();
    const client = await loggedIn(own.key);
    await administerTeam(scene.app.world, own.id, { riskState: 'suspended' });
    expect(await client.say(`MAIL FROM:<${from}>`)).toBe('535 5.7.13 This API key or its team is suspended.');
    expect(await logIn(await open(), own.key)).toBe('535 5.7.13 This API key or its team is suspended.');
    scene.clock.advance(600_000);
  });
});

describe('a message that POST /emails refuses', () => {
  it('is refused while sending is switched off, and can be sent later', async () => {
    const client = await loggedIn(team.key);
    await setSending(scene.app.world, { isOn: false, reason: 'maintenance' });
    scene.clock.advance(60_000);
    expect(await send(client)).toBe(
      '451 4.3.2 Sending is switched off on this installation (maintenance); try again later.',
    );
    expect(await client.say(`MAIL FROM:<${from}> SIZE=2000`)).toMatch(/^250/);
    await setSending(scene.app.world, { isOn: true });
    scene.clock.advance(60_000);
    await client.say('RSET');
    expect(await send(client)).toMatch(/^250 /);
  });

  it('is refused above the quota of the day, and can be sent on the next day', async () => {
    await using small = await startScene({
      roles,
      config: { plans: { standard: { daily_cap: 1 } } },
      startAt: '2027-03-10T12:00:00Z',
    });
    const own = await small.team();
    const sender = `me@${(await own.domain()).name}`;
    const client = await loggedIn(own.key, small);
    expect(await send(client, sender)).toMatch(/^250 /);
    expect(await send(client, sender)).toMatch(/^452 4\.7\.1 The plan of this team includes 1 emails a day/);
  });
});

describe('the limit', () => {
  it('of size makes a larger message be read and refused, and nothing of it is stored', async () => {
    const client = await loggedIn(team.key);
    expect(await send(client, from, `${message(from)}${`${'x'.repeat(70)}\r\n`.repeat(1000)}`)).toMatch(
      /^552 5\.3\.4 The message exceeds the limit of 65536 bytes/,
    );
    expect(await client.say('NOOP')).toMatch(/^250/);
    await client.say(`MAIL FROM:<${from}>`);
    await client.say('RCPT TO:<someone@example.net>');
    await client.say('DATA');
    client.send(`${message(from)}${`${'x'.repeat(70)}\r\n`.repeat(10_000)}`);
    expect((await client.reply()).join()).toBe('421 4.3.4 The message is far too large');
    await client.over();
  });

  it('of silent connections applies by address and by time, also before the TLS handshake', async () => {
    await using own = await startScene({
      roles,
      config: {
        smtp: { host: '127.0.0.1', max_connections: 8, max_connections_per_address: 3 },
        submission: { ports: [0], tls_ports: [0] },
      },
    });
    const port = findPort(own, 'tls');
    const call = async (localAddress: string): Promise<net.Socket> => {
      const socket = net.connect({ host: '127.0.0.1', port, localAddress });
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    };
    const silent = await Promise.all(Array.from({ length: 20 }, () => call('127.0.0.1')));
    await vi.waitFor(() => expect(silent.filter((socket) => socket.closed)).toHaveLength(17));
    const other = tls.connect({ socket: await call('127.0.0.9'), rejectUnauthorized: false });
    await once(other, 'secureConnect');
    other.destroy();
    own.clock.advance(30_000);
    await vi.waitFor(() => expect(silent.every((socket) => socket.closed)).toBe(true));
  });

  it('of time applies to the login and to content', async () => {
    const idle = await open();
    const busy = await loggedIn(team.key);
    scene.clock.advance(60_000);
    expect((await idle.reply()).join()).toBe('421 4.4.2 Log in within 60 seconds of connecting');
    await busy.say(`MAIL FROM:<${from}>`);
    await busy.say('RCPT TO:<someone@example.net>');
    await busy.say('DATA');
    busy.send('From: ');
    await vi.waitFor(() => {
      scene.clock.advance(70_000);
      expect(busy.isOver).toBe(true);
    });
    expect((await busy.reply()).join()).toMatch(/^421 4\.4\.2 The content arrives too slowly/);
  });

  it('of a key counts connections and messages, and that of an address connections and failures', async () => {
    await using small = await startScene({
      roles,
      config: {
        smtp: { host: '127.0.0.1', max_connections_per_address: 4 },
        submission: {
          ports: [0],
          tls_ports: [0],
          max_connections_per_key: 2,
          messages_per_minute_per_key: 3,
          failed_logins_max: 1,
        },
      },
    });
    const own = await small.team();
    const sender = `me@${(await own.domain()).name}`;
    const first = await loggedIn(own.key, small);
    const second = await loggedIn(own.key, small);
    const third = await greeted(small);
    expect(await third.say(`AUTH PLAIN ${plainToken(own.key)}`)).toBe(
      '454 4.7.0 2 connections with this API key are open, which is the limit; reuse them, or close some',
    );
    const fourth = await greeted(small);
    const fifth = await connect(small, 'tls');
    expect(fifth.transcript).toEqual([
      'S: 421 4.7.0 4 connections from your address are open, which is the limit; reuse them, or close some',
    ]);
    await second.say('QUIT');
    second.end();
    await vi.waitFor(async () =>
      expect(await third.say(`AUTH PLAIN ${plainToken(own.key)}`)).toBe('235 2.7.0 Logged in'),
    );
    for (let n = 0; n < 3; n++) expect(await send(first, sender)).toMatch(/^250 /);
    expect(await third.say(`MAIL FROM:<${sender}>`)).toBe(
      '451 4.7.1 3 messages a minute may be sent with one API key, which is the limit; try again in 20 s',
    );
    small.clock.advance(20_000);
    expect(await third.say(`MAIL FROM:<${sender}>`)).toMatch(/^250 /);
    expect(await fourth.say(`AUTH PLAIN ${plainToken('rk_nobody')}`)).toMatch(/^535 /);
    expect(await fourth.say(`AUTH PLAIN ${plainToken('rk_nobody')}`)).toBe(
      '421 4.7.0 Too many failed logins from your address; try again in 10 minutes',
    );
    await first.say('QUIT');
    first.end();
    await vi.waitFor(() => expect(fourth.isOver).toBe(true));
    const sixth = await greeted(small);
    expect(await sixth.say(`AUTH PLAIN ${plainToken(own.key)}`)).toBe('235 2.7.0 Logged in');
  });
});

describe('the limit of a team', () => {
  const another = async (own: Team, on: Scene): Promise<string> =>
    (await on.api('POST', '/api-keys', { key: own.key, body: { name: 'SMTP' } })).body.token as string;

  it('of connections leaves it as many as are free, however many keys it has', async () => {
    await using small = await startScene({
      roles,
      // Submission has six of them.
      config: { smtp: { host: '127.0.0.1', max_connections: 8 }, submission: { ports: [0], tls_ports: [0] } },
    });
    const greedy = await small.team();
    const other = await small.team();
    for (let n = 0; n < 3; n++) await loggedIn(await another(greedy, small), small);
    const next = await greeted(small);
    const login = `AUTH PLAIN ${plainToken(await another(greedy, small))}`;
    expect(await next.say(login)).toBe(
      '454 4.7.0 3 connections with API keys of your team are open, which is the limit; reuse them, or close some',
    );
    const patient = await loggedIn(other.key, small);
    expect(await send(patient, `me@${(await other.domain()).name}`)).toMatch(/^250 /);
  });

  it('of messages a minute counts those of all its keys together, and nobody else waits', async () => {
    await using small = await startScene({
      roles,
      config: {
        smtp: { host: '127.0.0.1' },
        submission: { ports: [0], tls_ports: [0], messages_per_minute_per_key: 2, messages_per_minute_per_team: 3 },
      },
    });
    const greedy = await small.team();
    const other = await small.team();
    const sender = `me@${(await greedy.domain()).name}`;
    const first = await loggedIn(greedy.key, small);
    const second = await loggedIn(await another(greedy, small), small);
    for (const client of [first, first, second]) expect(await send(client, sender)).toMatch(/^250 /);
    expect(await second.say(`MAIL FROM:<${sender}>`)).toBe(
      '451 4.7.1 3 messages a minute may be sent by one team, which is the limit; try again in 20 s',
    );
    const patient = await loggedIn(other.key, small);
    expect(await send(patient, `me@${(await other.domain()).name}`)).toMatch(/^250 /);
    small.clock.advance(20_000);
    // A refused message has not counted against the key's own limit.
    expect(await second.say(`MAIL FROM:<${sender}>`)).toMatch(/^250 /);
  });
});

describe('the submission port', () => {
  it('discards what was sent in clear text before the handshake', async () => {
    const client = await connect(scene, 'plain');
    await client.say('EHLO client.example');
    client.send(`STARTTLS\r\nEHLO injected.example\r\nAUTH PLAIN ${plainToken(team.key)}\r\n`);
    expect((await client.reply()).join()).toMatch(/^220 /);
    await client.upgrade();
    expect(await client.say(`MAIL FROM:<${from}>`)).toBe('503 5.5.1 Send EHLO first');
    client.end();
  });

  it('trusts PROXY headers of configured proxies, and serves none of their clients without one', async () => {
    await using proxied = await startScene({
      roles,
      config: { smtp: { host: '127.0.0.1', trusted_proxies: ['127.0.0.0/8'] } },
    });
    const headers = [
      Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 5000 465\r\n'),
      Buffer.from('0d0a0d0a000d0a515549540a2111000cc0000209c63364011388d1', 'hex'),
    ];
    for (const header of headers) {
      const client = await connect(proxied, 'plain', header.toString('latin1'));
      expect(client.transcript.at(-1)).toMatch(/^S: 220 /);
      client.end();
    }
    const without = await connect(proxied, 'plain', 'EHLO client.example\r\n');
    expect(without.transcript.at(-1)).not.toMatch(/^S: /);
    const client = await connect(proxied, 'plain', 'PROXY TCP6 2001:db8::7 ::1 5000 587\r\n');
    await client.say('EHLO client.example');
    await client.say('STARTTLS');
    await client.upgrade();
    await client.say('EHLO client.example');
    await client.say(`AUTH PLAIN ${plainToken('rk_nobody')}`);
    expect(proxied.log.find((line) => line.includes('smtp login refused'))).toContain('"address":"2001:db8::7"');
    client.end();
  });

  it('presents another certificate as soon as it is reloaded', async () => {
    await using real = await startScene({
      roles,
      config: { tls: { certificate_file: 'tls.pem', key_file: '' } },
      prepare: (folder) => put(folder),
    });
    const first = await shown(real);
    expect(await shown(real)).toBe(first);
    put(real.dataDir);
    real.app.reload();
    expect(await shown(real)).not.toBe(first);
  });

  it('lets messages in progress end when the program stops, and disconnects the others', async () => {
    await using stopping = await startScene({ roles });
    const own = await stopping.team();
    const sender = `me@${(await own.domain()).name}`;
    const idle = await loggedIn(own.key, stopping);
    const busy = await loggedIn(own.key, stopping);
    await busy.say(`MAIL FROM:<${sender}>`);
    await busy.say('RCPT TO:<someone@example.net>');
    await busy.say('DATA');
    busy.send(message(sender));
    const closed = stopping.app.smtp?.close(20_000);
    expect((await idle.reply()).join()).toBe('421 4.3.2 The server is shutting down; connect again in a minute');
    busy.send('.\r\n');
    expect((await busy.reply()).join()).toMatch(/^250 2\.6\.0 /);
    expect((await busy.reply()).join()).toMatch(/^421 4\.3\.2 /);
    idle.end();
    busy.end();
    await closed;
  });

  it('that is in use causes one line, and the others are open', async () => {
    const taken = findPort(scene, 'tls');
    await using second = await startScene({
      roles,
      config: { submission: { ports: [0], tls_ports: [taken] } },
    });
    expect(second.app.smtp?.listening).toHaveLength(1);
    const lines = second.log.filter((line) => line.includes('an SMTP port cannot be opened'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`port ${taken} is in use by `);
    expect(lines[0]).toContain(`(process ${process.pid}); stop it, or take ${taken} out of submission.tls_ports`);
  });
});

function put(folder: string): void {
  const { cert, key } = makeCertificate();
  writeFileSync(path.join(folder, 'tls.pem'), key + cert);
}

function shown(on: Scene): Promise<string> {
  return new Promise((done, fail) => {
    const socket: TLSSocket = tls.connect({ port: findPort(on, 'tls'), host: '127.0.0.1', rejectUnauthorized: false });
    socket.once('error', fail).once('secureConnect', () => {
      done(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
  });
}
