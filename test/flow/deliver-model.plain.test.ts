// The pool of connections against random orders of whatever can happen to it, with connections that are made of nothing.
// An account of its own, which counts everything anew each time, says whether a promise is broken.
import { expect, test } from 'vitest';
import { Pool } from '../../src/mail/deliver/pool.ts';
import type { Ending } from '../../src/mail/deliver/ending.ts';
import type { Deferral, DeliveryJob } from '../../src/mail/deliver/delivery-job.ts';
import type { PooledSession } from '../../src/mail/deliver/site.ts';
import type { ProviderLimits } from '../../src/platform/providers/index.ts';
import { createManualClock } from '../rig/clock.ts';
import { scaled } from '../rig/scale.ts';
import { dice, testSeed } from '../rig/seed.ts';

const ROUNDS = scaled(60);
const STEPS = 200;
const TOTAL_MAX = 5;
const PER_SITE_MAX = 4;
/** Domains of the provider have servers of their own and share this limit. */
const PER_PROVIDER_MAX = 2;
/** Openings at one time to an address without a connection. */
const PROBES_MAX = 2;

/** The part of a connection that the pool sees. */
class Connection {
  failure: unknown;
  isOutOfStep = false;
  isClosed = false;
  isLeaving = false;
  readonly address: string;
  readonly place: string;
  onClosed = (): void => {};
  onStir = (): void => {};

  constructor(address: string, place: string) {
    this.address = address;
    this.place = place;
  }

  quit(): void {
    this.isLeaving = true;
    this.onStir = () => {};
    setImmediate(() => this.close());
  }

  close(): void {
    if (this.isClosed) return;
    this.failure ??= 'closed';
    this.onStir();
    this.isClosed = true;
    this.onClosed();
  }

  fail(failure: unknown): void {
    this.failure ??= failure;
    this.onStir();
    setImmediate(() => this.close());
  }
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((done) => setImmediate(done));
};

const WHY: Deferral = { kind: 'deferred', reason: 'connection_lost', detail: 'so it was decided' };
const chooseAddress = ({ domain }: Pick<DeliveryJob, 'domain'>): string =>
  Number(domain.slice(1)) % 3 === 0 ? 'A' : 'B';
const chooseHost = ({ domain }: Pick<DeliveryJob, 'domain'>): string => (domain.startsWith('o') ? 'own' : 'shared');

const buildServers = (job: Pick<DeliveryJob, 'domain'>): string => `${chooseHost(job)} ${chooseAddress(job)}`;
const countMatches = <T>(all: Iterable<T>, is: (one: T) => boolean): number => [...all].filter(is).length;

/** Tracks what is in progress, and records each promise that it breaks. */
function createAccount(perAddressMax: number) {
  const opening = new Set<{ address: string; servers: string }>();
  const open = new Set<Connection>();
  const leased = new Map<PooledSession, DeliveryJob>();
  const faults = new Set<string>();
  const toConnection = (session: PooledSession): Connection => session.connection as unknown as Connection;
  const established = (address: string): number =>
    countMatches(open, (one) => one.address === address && !one.isClosed);

  function checkLimits(): void {
    const all = countMatches(open, ({ isClosed }) => !isClosed) + opening.size;
    if (all > TOTAL_MAX) faults.add(`${all} connections at one time`);
    for (const address of ['A', 'B']) {
      const had = established(address);
      const more = countMatches(opening, (one) => one.address === address);
      if (had + more > perAddressMax) faults.add(`${had + more} connections to ${address}`);
      if (had === 0 && more > PROBES_MAX) faults.add(`${more} openings to ${address}, which has answered none`);
    }
    const standing = [...open].filter(({ isClosed }) => !isClosed).map(({ place }) => place.replace(/ \w+$/, ''));
    const places = [...standing, ...[...opening].map(({ servers }) => servers)];
    for (const [name, those] of Map.groupBy(places, (one) => one))
      if (those.length > PER_SITE_MAX) faults.add(`${those.length} connections to the servers ${name}`);
    const ofProvider = countMatches(places, (place) => place.startsWith('own'));
    if (ofProvider > PER_PROVIDER_MAX) faults.add(`${ofProvider} connections to the provider`);
  }

  /** A team has at most as many as are free: of all connections, and of twice as many at one address. */
  function checkShare(session: PooledSession, { teamId }: DeliveryJob): void {
    const { address } = toConnection(session);
    const there = [...leased].filter(([other]) => toConnection(other).address === address);
    const own = countMatches(leased.values(), (job) => job.teamId === teamId);
    const ownThere = countMatches(there, ([, job]) => job.teamId === teamId);
    if (own + 1 > TOTAL_MAX - leased.size) faults.add(`a team had ${own} of ${leased.size} and got another`);
    if (ownThere + 1 > 2 * (perAddressMax - there.length))
      faults.add(`a team had ${ownThere} of ${there.length} at one address and got another`);
  }

  return {
    open,
    leased,
    faults,
    connectionOf: toConnection,
    opens(address: string, job: DeliveryJob): () => void {
      const one = { address, servers: buildServers(job) };
      opening.add(one);
      checkLimits();
      return () => void opening.delete(one);
    },
    leases(session: PooledSession, job: DeliveryJob): void {
      const { isClosed, isLeaving, place } = toConnection(session);
      if (leased.has(session)) faults.add('a connection has two leases');
      if (isClosed || isLeaving) faults.add('a lease of a connection that is gone');
      if (place !== `${chooseHost(job)} ${chooseAddress(job)} ${job.tls}`)
        faults.add(`mail for ${job.domain} went to ${place}`);
      checkShare(session, job);
      leased.set(session, job);
      checkLimits();
    },
  };
}

function setOut(seed: number, perAddressMax: number) {
  const next = dice(seed);
  const roll = (sides: number): number => Math.floor(next() * sides);
  const clock = createManualClock(1_000_000);
  const account = createAccount(perAddressMax);
  const { open, leased, faults } = account;
  const state = { isCalm: false };
  const limits: ProviderLimits = {
    connections: undefined,
    connectionsPerSite: PER_SITE_MAX,
    messagesPerConnection: 12,
    messagesPerMinute: undefined,
    messageBurst: 1,
    connectionsPerMinute: undefined,
    connectionBurst: 1,
    idleMs: 15_000,
    family: 'auto',
    tls: 'opportunistic',
  };
  const provider = { name: 'own', title: 'Own', limits: { ...limits, connections: PER_PROVIDER_MAX } };
  const pool = new Pool({
    limits: { openMs: 120_000, connectionsTotalMax: TOTAL_MAX, connectionsPerAddressMax: perAddressMax },
    clock,
    now: () => clock.now(),
    random: () => 0.5,
    quitMs: 500,
    async locate(job) {
      const isOwn = chooseHost(job) === 'own';
      return {
        source: 'here',
        servers: buildServers(job),
        order: '',
        provider: isOwn ? provider : undefined,
        limits: isOwn ? provider.limits : limits,
        tls: '',
        job,
        route: async () => ({
          kind: 'route',
          targets: [{ host: chooseHost(job), address: chooseAddress(job), port: 25 }],
        }),
      };
    },
    async open(job, target) {
      const opened = account.opens(target.address, job);
      await turns(1 + roll(3));
      opened();
      if (!state.isCalm && roll(12) === 0) {
        return { kind: 'failed', reason: 'refused_for_now', detail: 'x', takesNoMail: roll(4) === 0 };
      }
      const connection = new Connection(target.address, `${target.host} ${target.address} ${job.tls}`);
      open.add(connection);
      const session = { connection, mx: target.host, tls: null, used: 0, needsReset: false };
      return { kind: 'open', handshakeFailed: false, session: session as unknown as PooledSession };
    },
  });
  let waiting = 0;

  function acquire(job: DeliveryJob, signal: AbortSignal, fresh: boolean): void {
    waiting++;
    void pool.acquire(job, signal, fresh).then((lease) => {
      waiting--;
      if (lease.kind === 'lease') account.leases(lease.session, job);
    });
  }

  function release(session: PooledSession, ending: Ending | undefined): void {
    const job = leased.get(session);
    leased.delete(session);
    session.used += 1;
    if (job) pool.release(job, session, ending);
  }

  return { roll, clock, open, state, pool, leased, faults, acquire, release, waiting: () => waiting };
}

const buildJob = (domain: string, teamId: string, tls: DeliveryJob['tls']): DeliveryJob =>
  ({ domain, teamId, tls, region: 'eu' }) as DeliveryJob;

async function happen(seed: number): Promise<string[]> {
  const perAddressMax = 1 + (seed % 3);
  const { roll, clock, open, state, pool, leased, faults, acquire, release, waiting } = setOut(seed, perAddressMax);
  const aborts: AbortController[] = [];
  for (let step = 0; step < STEPS; step++) {
    const what = roll(10);
    const [session] = [...leased.keys()].slice(roll(Math.max(1, leased.size)));
    if (what < 5) {
      const abort = new AbortController();
      aborts.push(abort);
      const job = buildJob(
        `${'do'[roll(2)] ?? ''}${roll(6)}`,
        `t${roll(3)}`,
        roll(4) === 0 ? 'enforced' : 'opportunistic',
      );
      acquire(job, abort.signal, roll(6) === 0);
    } else if (what < 8 && session) {
      const connection = session.connection as unknown as Connection;
      const how = roll(12);
      if (how < 2) connection.fail('lost');
      if (how === 2) connection.close();
      if (how === 2) await turns(roll(3));
      const bad: Ending[] = [
        { kind: 'turned away', why: WHY },
        { kind: 'broken', why: WHY },
      ];
      release(session, how === 2 ? undefined : (bad[how] ?? { kind: 'worked' }));
    } else if (what === 8) {
      if (roll(2) === 0) clock.advance(roll(8000));
      else aborts[roll(Math.max(1, aborts.length))]?.abort();
    }
    await turns(roll(3));
  }
  state.isCalm = true;
  const isClosing = roll(3) === 0;
  const closed = isClosing ? pool.close(1000) : undefined;
  const giveAllBack = async (): Promise<void> => {
    for (const session of [...leased.keys()]) release(session, { kind: 'worked' });
    await turns(2);
  };
  const isUnderWay = (round: number): boolean => leased.size > 0 || (waiting() > 0 && round < 500);
  for (let round = 0; round < 30 || isUnderWay(round); round++) await giveAllBack();
  if (waiting() + pool.stats().waiting > 0) faults.add(`${waiting()} wait for ever`);
  for (let round = 0; round < 5; round++) {
    clock.advance(100_000);
    await turns(8);
    await giveAllBack();
  }
  await closed;
  const left = pool.stats();
  if (left.connections + left.idle + [...open].filter(({ isClosed }) => !isClosed).length > 0)
    faults.add('connections are left');
  if (!isClosing) {
    // Everything that was counted has been released: a team alone has its share of a pool that nobody uses.
    // Servers that refused some connections get as many as before once they have taken mail for a while.
    for (let n = 0; n < 40; n++) {
      for (const domain of ['d0', 'd1'])
        acquire(buildJob(domain, 'new', 'opportunistic'), new AbortController().signal, false);
      await turns(6);
      await giveAllBack();
    }
    clock.advance(100_000);
    await turns(30);
    for (let n = 0; n < 5; n++) acquire(buildJob(`d${n}`, 'new', 'opportunistic'), new AbortController().signal, false);
    await turns(30);
    if (leased.size !== (perAddressMax === 1 ? 2 : 3)) faults.add(`a team alone has ${leased.size} connections`);
  }
  return [...faults];
}

test(`in ${ROUNDS} random orders no limit and no share is exceeded, nobody waits forever and nothing is left over`, async () => {
  const faults: string[] = [];
  const seed = testSeed();
  for (let round = 0; round < ROUNDS; round++)
    for (const fault of await happen(seed + round)) faults.push(`seed ${seed + round}: ${fault}`);
  expect(faults).toEqual([]);
});

/** Teams with a sender each that never stops, and one whose only message comes while they are at it: how many of one team go before it. */
async function mostTurnsBefore(seed: number): Promise<number> {
  const { roll, pool, state } = setOut(seed, 1 + (seed % 3));
  state.isCalm = true;
  const order: string[] = [];
  const place = (): string => `${'do'[roll(2)] ?? ''}${3 * roll(2)}`;
  const send = async (team: string, domain: string): Promise<void> => {
    const job = buildJob(domain, team, 'opportunistic');
    const lease = await pool.acquire(job, new AbortController().signal, false);
    if (lease.kind !== 'lease') throw new Error(lease.reason);
    order.push(team);
    lease.session.used += 1;
    await turns(1 + roll(2));
    pool.release(job, lease.session, { kind: 'worked' });
  };
  let isOver = false;
  const sendOn = async (team: string, domain: string): Promise<void> => {
    while (!isOver && order.length < 2000) await send(team, domain);
  };
  const busy = Array.from({ length: 2 + roll(5) }, (_, n) => sendOn(`busy-${n}`, place()));
  await turns(20);
  const from = order.length;
  await send('other-team', place());
  const before = order.slice(from, order.lastIndexOf('other-team'));
  isOver = true;
  await Promise.all(busy);
  const counts = [...Map.groupBy(before, (team) => team).values()].map((those) => those.length);
  return Math.max(0, ...counts);
}

test(`a team that comes later gets its turn, whoever is busy, in ${ROUNDS} random queues for one address`, async () => {
  const seed = testSeed();
  for (let round = 0; round < ROUNDS; round++) {
    // A connection to another host at the address is closed for it after ten messages at the latest.
    expect(await mostTurnsBefore(seed + round), `seed ${seed + round}`).toBeLessThanOrEqual(12);
  }
});

test('teams that send one message after the other do not overtake one that waits', async () => {
  const { pool, state } = setOut(1, 1);
  state.isCalm = true;
  const order: string[] = [];
  const send = async (team: string): Promise<void> => {
    const job = buildJob(`d${team.length}`, team, 'opportunistic');
    const lease = await pool.acquire(job, new AbortController().signal, false);
    if (lease.kind !== 'lease') throw new Error(lease.reason);
    order.push(team);
    lease.session.used += 1;
    await turns(1);
    pool.release(job, lease.session, { kind: 'worked' });
  };
  const sendOn = async (team: string): Promise<void> => {
    while (order.length < 300) await send(team);
  };
  const busy = ['a', 'bb', 'dddd'].map(sendOn);
  await turns(10);
  const waitsSince = order.length;
  await Promise.all([send('other-team'), ...busy, sendOn('eeeee')]);
  // Each of the others has had one turn by then, and those that were under way theirs.
  expect(order.indexOf('other-team') - waitsSince).toBeLessThanOrEqual(2 * busy.length);
});

test('mail for a name uses the connection that became idle when earlier mail was called off', async () => {
  const { pool, state, acquire, release, leased } = setOut(1, 1);
  state.isCalm = true;
  const busy = buildJob('o0', 'a', 'opportunistic');
  const other = buildJob('o3', 'b', 'opportunistic');
  acquire(busy, new AbortController().signal, false);
  await turns(10);
  const calledOff = new AbortController();
  acquire(other, calledOff.signal, false);
  await turns(1);
  calledOff.abort();
  await turns(1);
  for (const session of [...leased.keys()]) release(session, { kind: 'worked' });
  expect(pool.stats()).toMatchObject({ connections: 1, idle: 1, waiting: 0 });
  acquire(other, new AbortController().signal, false);
  await turns(1);
  expect([...leased.values()]).toEqual([other]);
  expect(pool.stats()).toMatchObject({ connections: 1, idle: 0, waiting: 0 });
});
