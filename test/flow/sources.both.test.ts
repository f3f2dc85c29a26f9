// a sender with several addresses --> pools divide its mail among them --> each receiver sees what the settings say
import { afterEach, expect, it } from 'vitest';
import type { Config, DeepPartial } from '../../src/platform/config/index.ts';
import { startScene, type Scene, type SceneOptions } from '../rig/scene.ts';
import { startSocksProxy } from '../rig/socks-proxy.ts';
import { mailIn, type Mail } from './mail.ts';

const FIRST = '127.0.8.1';
const SECOND = '127.0.8.2';
const MINUTE = 60_000;

let scene: Scene;
afterEach(() => scene?.close());

async function start(config: DeepPartial<Config>, sink: SceneOptions['sink'] = {}): Promise<Mail> {
  scene = await startScene({ config, sink });
  return mailIn(scene);
}

const SOURCES = {
  first: { source_v4: FIRST, helo_name: 'first.sender.test' },
  second: { source_v4: SECOND, helo_name: 'second.sender.test' },
};

/** Counts the messages that arrived from each address. */
function countByPeer(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { peer } of scene.sink.messages) counts[peer] = (counts[peer] ?? 0) + 1;
  return counts;
}

it('mail is divided by the weights of a pool, and each source greets with its own name', async () => {
  const mail = await start({ sources: SOURCES, pools: { main: { sources: ['first:3', 'second'] } } });
  for (let count = 0; count < 40; count++) await mail.send(`x${count}@example.org`);
  await scene.settled();
  expect(countByPeer()).toEqual({ [FIRST]: 30, [SECOND]: 10 });
  const greetings = new Set(scene.sink.commands.filter((line) => line.startsWith('EHLO')));
  expect(greetings).toEqual(new Set(['EHLO first.sender.test', 'EHLO second.sender.test']));
});

it('the pool of the sending domain comes before that of the stream and of the installation', async () => {
  const mail = await start({
    sources: { ...SOURCES, third: { source_v4: '127.0.8.3' } },
    pools: {
      main: { sources: ['first'] },
      bulk: { sources: ['second'], streams: ['marketing'] },
      shop: { sources: ['third'], domains: ['shop.example.com'] },
    },
  });
  await mail.send('a@example.org');
  const shop = await mail.team.domain('shop.example.com');
  await mail.send('b@example.org', { from: `a@${shop.name}` });
  await scene.settled();
  expect(scene.sink.messages.map(({ peer, rcptTo }) => [rcptTo[0], peer])).toEqual([
    ['a@example.org', FIRST],
    ['b@example.org', '127.0.8.3'],
  ]);
});

it('the attempts of an email name the source and the provider, for its team and in the queue', async () => {
  let isBusy = true;
  const mail = await start(
    {
      sources: SOURCES,
      pools: { main: { sources: ['first'] }, shop: { sources: ['second'], domains: ['shop.example.com'] } },
      providers: { acme: { title: 'Acme', domains: ['example.org'] } },
    },
    { script: (line) => (isBusy && line.startsWith('RCPT') ? '451 4.3.0 Try again later' : undefined) },
  );
  const shop = await mail.team.domain('shop.example.com');
  const first = await mail.send('a@example.org');
  const second = await mail.send('b@other.example', { from: `a@${shop.name}` });
  await scene.settled();
  const readAttempts = async (id: string): Promise<unknown[]> =>
    (await scene.api('GET', `/emails/${id}/attempts`, { key: mail.team.key })).body.data.map(
      ({ attempt, source, provider }: Record<string, unknown>) => ({ attempt, source, provider }),
    );
  expect(await readAttempts(first)).toEqual([{ attempt: 1, source: 'first', provider: 'acme' }]);
  expect(await readAttempts(second)).toEqual([{ attempt: 1, source: 'second', provider: null }]);
  const queued = await scene.api('GET', `/operator/queue/emails/${second}`, { key: await scene.operator() });
  expect(queued.body.attempts).toMatchObject([{ source: 'second', provider: null }]);

  isBusy = false;
  scene.clock.advance(10 * MINUTE);
  await scene.settled();
  expect(await readAttempts(first)).toEqual([
    { attempt: 2, source: 'first', provider: 'acme' },
    { attempt: 1, source: 'first', provider: 'acme' },
  ]);
});

it('the attempts of mail outside of pools name the EHLO name and the addresses, and those without a mail server no source', async () => {
  const mail = await start({ regions: { 'eu-west-1': { helo_name: 'out.sender.test', source_v4: FIRST } } });
  const sent = await mail.send('a@example.org');
  scene.dns.set('broken.example', 'MX', 'SERVFAIL');
  const unsent = await mail.send('a@broken.example');
  await scene.settled();
  const readFirst = async (id: string): Promise<unknown> =>
    (await scene.api('GET', `/emails/${id}/attempts`, { key: mail.team.key })).body.data[0];
  expect(await readFirst(sent)).toMatchObject({
    source: `out.sender.test ${FIRST}`,
    provider: null,
    mx: 'mx.sink.test',
  });
  expect(await readFirst(unsent)).toMatchObject({ source: null, provider: null, mx: null });
});

it('a message that a receiver defers leaves by the same source again', async () => {
  let greylisted = true;
  const mail = await start(
    { sources: SOURCES, pools: { main: { sources: ['first', 'second'] } } },
    { script: (line) => (greylisted && line.startsWith('RCPT') ? '451 4.7.1 Greylisted, try again later' : undefined) },
  );
  const ids = [];
  for (let count = 0; count < 6; count++) ids.push(await mail.send(`x${count}@example.org`));
  await scene.settled();
  const { db } = scene.app.world;
  const before = await db.all<{ email_id: string; source: string }>(
    'select email_id, source from delivery_attempts order by id',
    [],
  );
  expect(new Set(before.map(({ source }) => source))).toEqual(new Set(['first', 'second']));
  greylisted = false;
  scene.clock.advance(10 * MINUTE);
  await scene.settled();
  const after = await db.all<{ email_id: string; source: string }>(
    'select email_id, source from delivery_attempts where attempt = 2 order by id',
    [],
  );
  const sources = new Map(before.map(({ email_id: id, source }) => [id, source]));
  expect(after).toHaveLength(6);
  for (const { email_id: id, source } of after) expect(source).toBe(sources.get(id));
});

it('a source that a receiver does not trust is avoided there, and is used for other receivers', async () => {
  const mail = await start(
    {
      sources: SOURCES,
      pools: { main: { sources: ['first', 'second'] } },
      providers: { acme: { title: 'Acme', domains: ['example.org'] } },
    },
    {
      script: (line, { peer }) =>
        peer === FIRST && line.startsWith('RCPT') && line.includes('@example.org')
          ? '421 4.7.0 Messages from 127.0.8.1 temporarily deferred due to user complaints'
          : undefined,
    },
  );
  for (let count = 0; count < 10; count++) await mail.send(`x${count}@example.org`);
  await scene.settled();
  scene.clock.advance(10 * MINUTE);
  await scene.settled();
  expect(countByPeer()).toEqual({ [SECOND]: 10 });
  scene.sink.messages.length = 0;
  for (let count = 0; count < 10; count++) await mail.send(`x${count}@other.example`);
  await scene.settled();
  expect(countByPeer()).toEqual({ [FIRST]: 5, [SECOND]: 5 });
});

const BLOCKED = '550 5.7.1 Service unavailable; Client host [127.0.8.1] blocked using zen.spamhaus.org';

it('a message that is refused because of its source leaves by another one at once, and the source rests there for an hour', async () => {
  const mail = await start(
    { sources: SOURCES, pools: { main: { sources: ['first:100', 'second'] } } },
    { script: (line, { peer }) => (peer === FIRST && line.startsWith('RCPT') ? BLOCKED : undefined) },
  );
  const ids = [];
  for (let count = 0; count < 5; count++) {
    ids.push(await mail.send(`x${count}@example.org`));
    await scene.settled();
  }
  for (const id of ids) expect((await mail.account(id)).state).toBe('delivered');
  expect(countByPeer()).toEqual({ [SECOND]: 5 });
  const countRefusals = async () =>
    scene.app.world.db.all(
      `select outcome, cause, cast(sum(count) as integer) as count from reputation_counts where source = 'first' group by outcome, cause`,
      [],
    );
  expect(await countRefusals()).toEqual([{ outcome: 'bounced', cause: 'ip_reputation', count: 1 }]);
  scene.clock.advance(61 * MINUTE);
  await mail.send('later@example.org');
  await scene.settled();
  expect(countByPeer()).toEqual({ [SECOND]: 6 });
  expect(await countRefusals()).toEqual([{ outcome: 'bounced', cause: 'ip_reputation', count: 2 }]);
});

it('a source that a customer of a provider refuses rests for the domain of that customer only', async () => {
  const mail = await start(
    { sources: SOURCES, pools: { main: { sources: ['first:100', 'second'] } } },
    {
      script: (line, { peer }) =>
        peer === FIRST && line.startsWith('RCPT') && line.includes('@evil.example') ? BLOCKED : undefined,
    },
  );
  // Both domains have the same mail servers, those of Mimecast.
  for (const domain of ['evil', 'good'])
    scene.dns.set(`${domain}.example`, 'MX', ['10 eu-smtp-inbound-1.mimecast.com']);
  scene.dns.set('eu-smtp-inbound-1.mimecast.com', 'A', ['127.0.0.1']);
  const stranger = await mailIn(scene);
  for (let count = 0; count < 3; count++) {
    await stranger.send(`x${count}@evil.example`);
    await scene.settled();
  }
  expect(countByPeer()).toEqual({ [SECOND]: 3 });
  // The second and the third message were not tried from the source that had been refused.
  expect(scene.sink.commands.filter((line) => line.startsWith('RCPT') && line.includes('@evil.example'))).toHaveLength(
    4,
  );
  scene.sink.messages.length = 0;
  for (let count = 0; count < 10; count++) await mail.send(`x${count}@good.example`);
  await scene.settled();
  expect(countByPeer()).toEqual({ [FIRST]: 10 });
});

it('a message that is deferred because of its source leaves by another one at once', async () => {
  const mail = await start(
    { sources: SOURCES, pools: { main: { sources: ['first:100', 'second'] } } },
    {
      script: (line, { peer }) =>
        peer === FIRST && line.startsWith('RCPT') ? BLOCKED.replace('550 5.7.1', '451 4.7.1') : undefined,
    },
  );
  const id = await mail.send('a@example.org');
  await scene.settled();
  expect((await mail.account(id)).state).toBe('delivered');
  expect(countByPeer()).toEqual({ [SECOND]: 1 });
});

it('a message that every source is refused for bounces with the reply to the last one', async () => {
  const mail = await start(
    { sources: SOURCES, pools: { main: { sources: ['first', 'second'] } } },
    { script: (line) => (line.startsWith('RCPT') ? BLOCKED : undefined) },
  );
  const id = await mail.send('a@example.org');
  await scene.settled();
  const { state, suppressed } = await mail.account(id);
  expect({ state, suppressed }).toEqual({ state: 'bounced', suppressed: [] });
  expect(scene.sink.commands.filter((line) => line.startsWith('RCPT'))).toHaveLength(2);
});

it('a recipient who is refused because of the source gets the message by another one later, and the others get it once', async () => {
  const mail = await start(
    { sources: SOURCES, pools: { main: { sources: ['first:100', 'second'] } } },
    {
      script: (line, { peer }) =>
        peer === FIRST && line.startsWith('RCPT') && line.includes('strict') ? BLOCKED : undefined,
    },
  );
  const id = await mail.send(['kind@example.org', 'strict@example.org']);
  await scene.settled();
  expect(scene.sink.messages.map(({ peer, rcptTo }) => [peer, rcptTo])).toEqual([[FIRST, ['kind@example.org']]]);
  scene.clock.advance(10 * MINUTE);
  await scene.settled();
  expect(scene.sink.messages.map(({ peer, rcptTo }) => [peer, rcptTo])).toEqual([
    [FIRST, ['kind@example.org']],
    [SECOND, ['strict@example.org']],
  ]);
  expect((await mail.account(id)).state).toBe('delivered');
});

it('an address that the machine lacks is a finding, and its mail leaves by the other source', async () => {
  const mail = await start({
    sources: { ...SOURCES, second: { source_v4: '192.0.2.77' } },
    pools: { main: { sources: ['first', 'second:100'] } },
  });
  for (let count = 0; count < 4; count++) await mail.send(`x${count}@example.org`);
  await scene.settled();
  expect(countByPeer()).toEqual({ [FIRST]: 4 });
  const token = await scene.operator();
  const { body } = await scene.api('GET', '/operator/findings', { key: token });
  expect(body.findings).toContainEqual(
    expect.objectContaining({
      code: 'source_unavailable',
      summary: 'Nothing can be sent from the source second: the address 192.0.2.77 does not exist on this machine.',
    }),
  );
});

it('mail waits without an attempt if no source of its pool can send', async () => {
  const mail = await start({
    sources: { second: { source_v4: '192.0.2.77' } },
    pools: { main: { sources: ['second'] } },
  });
  const id = await mail.send('a@example.org');
  await scene.settled();
  expect((await mail.account(id)).arrived).toEqual([]);
  expect(scene.sink.counts.connections).toBe(0);
  const { db } = scene.app.world;
  expect(await db.all('select attempt, is_throttled from deliveries where email_id = ?', [id])).toEqual([
    { attempt: 0, is_throttled: 1 },
  ]);
});

it('a source whose address is missing is left out for a minute before it is tried again', async () => {
  const mail = await start({
    sources: { second: { source_v4: '192.0.2.77' } },
    pools: { main: { sources: ['second'] } },
  });
  const begin = scene.clock.now();
  for (let count = 0; count < 5; count++) await mail.send(`x${count}@d${count}.example`);
  await scene.settled();
  const readDue = async () => {
    const rows = await scene.app.world.db.all<{ due_at: number }>('select due_at from deliveries', []);
    return rows.map((row) => Number(row.due_at));
  };
  expect(await readDue()).toEqual(Array.from({ length: 5 }, () => begin + MINUTE));
  for (let seconds = 0; seconds < 55; seconds += 5) {
    scene.clock.advance(5000);
    await scene.settled();
  }
  expect(await readDue()).toEqual(Array.from({ length: 5 }, () => begin + MINUTE));
  scene.clock.advance(5000);
  await scene.settled();
  expect(await readDue()).toEqual(Array.from({ length: 5 }, () => begin + 2 * MINUTE));
});

/** Reads why an email waits, as its team and an operator see it. */
async function readReasons(mail: Mail, id: string): Promise<unknown[]> {
  const team = await scene.api('GET', `/emails/${id}/attempts`, { key: mail.team.key });
  const operator = await scene.api('GET', `/operator/queue/emails/${id}`, { key: await scene.operator() });
  return [team.body, operator.body].map(({ pending }) => pending[0].waits_because);
}

it('mail that waits for a missing address says so to its team and to an operator', async () => {
  const mail = await start({
    sources: { second: { source_v4: '192.0.2.77' } },
    pools: { main: { sources: ['second'] } },
  });
  const id = await mail.send('a@example.org');
  await scene.settled();
  const reason = 'nothing can be sent from second, because the address 192.0.2.77 does not exist on this machine';
  expect(await readReasons(mail, id)).toEqual([reason, reason]);
});

it('a message that one source was refused with, while the other waits, lists the refusal, and says what it waits for', async () => {
  const mail = await start(
    {
      sources: { ...SOURCES, second: { source_v4: '192.0.2.77' } },
      pools: { main: { sources: ['first', 'second'] } },
      providers: { acme: { title: 'Acme', domains: ['example.org'] } },
    },
    { script: (line, { peer }) => (peer === FIRST && line.startsWith('RCPT') ? BLOCKED : undefined) },
  );
  const id = await mail.send('a@example.org');
  await scene.settled();
  const { body } = await scene.api('GET', `/emails/${id}/attempts`, { key: mail.team.key });
  expect(body.data).toMatchObject([
    {
      attempt: 1,
      source: 'first',
      provider: 'acme',
      recipients: [{ outcome: 'deferred', reply: BLOCKED, cause: 'ip_reputation' }],
    },
  ]);
  const { db } = scene.app.world;
  expect(
    await db.all(
      'select source, outcome, cause, cast(sum(count) as integer) as count from reputation_counts group by source, outcome, cause',
      [],
    ),
  ).toEqual([{ source: 'first', outcome: 'deferred', cause: 'ip_reputation', count: 1 }]);
  // The providers of recipients' domains are stored every few seconds.
  scene.clock.advance(MINUTE / 2);
  await scene.settled();
  expect(await readReasons(mail, id)).toEqual([
    'Acme refuses mail from first, and other sources take it for a while',
    'Acme refuses mail from first, and other sources take it for a while',
  ]);
});

it('a source with a SOCKS5 proxy connects through it, with its login, and by the address of the mail server', async () => {
  await using proxy = await startSocksProxy({
    localAddress: '127.0.8.9',
    login: { user: 'mail', password: 'secret' },
  });
  const mail = await start({
    sources: { far: { socks5: `127.0.0.1:${proxy.port}`, socks5_user: 'mail', socks5_password: 'secret' } },
    pools: { main: { sources: ['far'] } },
  });
  const id = await mail.send('a@example.org');
  await scene.settled();
  expect((await mail.account(id)).state).toBe('delivered');
  expect(countByPeer()).toEqual({ '127.0.8.9': 1 });
  expect(proxy.asked).toEqual([`127.0.0.1:${scene.sink.port}`]);
});

it('mail leaves by another source while a proxy refuses the login, and the receiver is not taken to be down', async () => {
  await using proxy = await startSocksProxy({
    localAddress: '127.0.8.9',
    login: { user: 'mail', password: 'secret' },
  });
  const far = { socks5: `127.0.0.1:${proxy.port}`, socks5_user: 'mail', socks5_password: 'wrong' };
  const mail = await start({
    sources: { ...SOURCES, far },
    pools: { main: { sources: ['far:100', 'first'] } },
  });
  for (let count = 0; count < 3; count++) await mail.send(`x${count}@example.org`);
  await scene.settled();
  expect(countByPeer()).toEqual({ [FIRST]: 3 });
  expect(proxy.asked).toEqual([]);
});
