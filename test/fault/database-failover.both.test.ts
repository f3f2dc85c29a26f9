// clients --> two nodes --> sink; the nodes share two PostgreSQL servers, of which one replicates to the other
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFailed, onTestFinished } from 'vitest';
import { startApp } from '../../src/app.ts';
import { repeat, systemClock } from '../../src/platform/clock.ts';
import { openDb, TIMELINE_FILE } from '../../src/platform/db/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createManualClock } from '../rig/clock.ts';
import { createDatabase } from '../rig/database-server.ts';
import { driver } from '../rig/database.ts';
import { startObjectServer, type ObjectServer } from '../rig/object-server.ts';
import { startPgBouncer } from '../rig/pg-bouncer.ts';
import { startPgPair, type PgMember, type PgPair } from '../rig/pg-pair.ts';
import { scaled } from '../rig/scale.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startSink } from '../rig/sink.ts';
import { Watch } from './nodes-under-faults.ts';
import { buildConfig, installProgram, type LogLine, type Program } from './program.ts';

const FAILOVERS = Math.min(10, scaled(2));
const SENDS_PER_SECOND = scaled(1) > 1 ? 200 : 40;
const IN_FLIGHT_MAX = 100;
/** Time that a client waits for an answer, and then until it asks the other node. */
const PATIENCE_MS = 5000;
const TICK_MS = 20;
const PAUSE_TICKS = 10;
/** Longest time from the end of the primary, whose standby is promoted at once, to the first acknowledged send. */
const BACK_MS_MAX = 10_000;
const BOUNCER = process.env['RASKET_TEST_PGBOUNCER'] ?? '';
const timeout = { timeout: 120_000 + FAILOVERS * 60_000 };

// runs only with PostgreSQL: SQLite has no standby
it.runIf(driver === 'pg')(
  'each failover to a standby loses and repeats nothing that was acknowledged, and the former primary is not used again',
  timeout,
  () => failOver({ isThroughBouncer: false }),
);

// runs only if a PgBouncer that keeps prepared statements (1.21 or later) is given
it.runIf(driver === 'pg' && BOUNCER !== '')(
  'each failover behind a PgBouncer of each server loses and repeats nothing that was acknowledged',
  timeout,
  () => failOver({ isThroughBouncer: true }),
);

async function failOver({ isThroughBouncer }: { isThroughBouncer: boolean }): Promise<void> {
  const watch = new Watch();
  const arrivals = new Map<string, number>();
  const sink = await startSink({
    keep: false,
    onMessage({ data }) {
      const id = /^message-id: *<([^@]+)@/im.exec(data.toString('latin1'))?.[1] ?? 'no Message-ID';
      arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
      watch.stir();
    },
  });
  onTestFinished(() => sink.close());
  const pair = await startPgPair();
  onTestFinished(() => pair.stop());
  const { name: database } = await createDatabase(pair.members[0].url);
  const direct = pair.buildUrl(database);
  const url = isThroughBouncer ? await startBouncers(pair, database) : direct;
  const log: LogLine[] = [];
  onTestFailed(() => console.log(log.filter(({ level }) => level !== 'info').slice(-40)));
  const store = await startStore();
  const program = await installProgram(sink, (line) => void (log.push(line), watch.stir()), {
    env: { RASKET_DATABASE_LISTEN_URL: isThroughBouncer ? direct : '', ...shareBlobs(store) },
    database: { settings: { driver, url }, drop: async () => undefined },
  });
  const second = await program.addNode({});
  const nodes = [await program.listening(), await second.listening()];
  const load = startLoad(program, { nodes, watch });

  const rounds: object[] = [];
  let [primary, standby] = pair.members;
  for (let round = 1; round <= FAILOVERS; round++) {
    const before = load.acknowledged.size;
    await watch.until(() => load.acknowledged.size >= before + SENDS_PER_SECOND);
    const lines = log.length;
    const killedAt = performance.now();
    // In every other round it falls silent, and no connection is closed.
    if (round % 2 === 0) primary.freeze();
    else await primary.kill();
    await standby.promote();
    const promotedAt = performance.now();
    const first = await load.nextAcknowledged(promotedAt);
    const backMs = Math.round(first - killedAt);
    while ((await countSessions(standby, database, 'rasket listener')) < nodes.length);
    const heardMs = Math.round(performance.now() - killedAt);
    rounds.push({ backMs, heardMs, acknowledged: load.acknowledged.size });
    expect(backMs).toBeLessThan(BACK_MS_MAX);
    expect(heardMs).toBeLessThan(BACK_MS_MAX);
    if (round % 2 === 0) {
      await primary.kill();
      await primary.start();
      const isLogged = (): boolean => log.slice(lines).filter(({ msg }) => msg === NOT_USED).length >= nodes.length;
      await watch.until(isLogged);
      await mustNotBeUsed(primary, { database, url: direct, program });
      for (const node of nodes) expect(await listFindings(node)).toContain('database_split');
      await primary.kill();
    }
    await primary.startAsStandbyOf(standby);
    await standby.waitForStandby();
    [primary, standby] = [standby, primary];
  }
  await load.stop();
  const { acknowledged, perSecond, longestGapMs } = load.count();
  await Promise.all([program.stop(), second.stop()]);

  const stored = await sendDeferred(program, store);
  console.log(JSON.stringify({ rounds, acknowledged, perSecond, longestGapMs, stored }));
  const ids = [...load.acknowledged.values()].toSorted();
  expect([...arrivals].filter(([, count]) => count > 1)).toEqual([]);
  expect([...arrivals.keys()].toSorted()).toEqual(ids);
  expect(stored).toEqual({ emails: ids.length, deliveries: 0, failures: 0 });
}

const HOUR_MS = 3_600_000;

/** Sends the mail that waits for its next attempt, and counts what the database has then. */
async function sendDeferred(
  { dataDir, env }: Program,
  store: ObjectServer,
): Promise<Record<'emails' | 'deliveries' | 'failures', number> | undefined> {
  store.skewMs = HOUR_MS;
  const app = await startApp({
    config: buildConfig(env),
    dataDir,
    version: '0.0.0-test',
    roles: ['delivery'],
    clock: createManualClock(Date.now() + HOUR_MS),
    log: createLog({ level: 'fatal', format: 'json' }),
  });
  try {
    await app.queue?.idle();
    return await app.world.db.get(
      `select (select count(*) from emails) as emails, (select count(*) from deliveries) as deliveries,
        (select count(*) from events where type = 'email.failed') as failures`,
    );
  } finally {
    await app.close(0);
  }
}

async function startStore(): Promise<ObjectServer> {
  const store = await startObjectServer();
  onTestFinished(() => store.close());
  return store;
}

const shareBlobs = ({ endpoint, bucket, region, accessKey, secretKey }: ObjectServer): Record<string, string> => ({
  RASKET_BLOBS_STORE: 's3',
  RASKET_BLOBS_ENDPOINT: endpoint,
  RASKET_BLOBS_BUCKET: bucket,
  RASKET_BLOBS_REGION: region,
  RASKET_BLOBS_ACCESS_KEY: accessKey,
  RASKET_BLOBS_SECRET_KEY: secretKey,
});

const NOT_USED = 'a PostgreSQL server that accepts writes is not used';

interface Send {
  /** 0 until it is acknowledged. */
  endedAt: number;
}

interface Load {
  /** Resolves with the moment of the first acknowledgement after this one. */
  nextAcknowledged(after: number): Promise<number>;
  /** The ids of acknowledged emails. */
  acknowledged: Map<number, string>;
  count(): { acknowledged: number; perSecond: number; longestGapMs: number };
  /** Resolves once all sends are acknowledged. */
  stop(): Promise<void>;
}

/** Sends steadily to both nodes, as careful clients do: each send is repeated with its key until it is acknowledged. */
function startLoad(program: Program, { nodes, watch }: { nodes: readonly string[]; watch: Watch }): Load {
  const sends: Send[] = [];
  const acknowledged = new Map<number, string>();
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const beganAt = performance.now();
  let isOver = false;
  let ticks = 0;

  async function send(n: number): Promise<void> {
    const own: Send = { endedAt: 0 };
    sends.push(own);
    for (let attempt = n; own.endedAt === 0; attempt++) {
      const id = await ask(program, nodes[attempt % nodes.length] ?? '', n);
      if (id === undefined) {
        const next = ticks + PAUSE_TICKS;
        await watch.until(() => ticks >= next);
        continue;
      }
      own.endedAt = performance.now();
      acknowledged.set(n, id);
    }
  }

  function sendDue(): void {
    const due = ((performance.now() - beganAt) / 1000) * SENDS_PER_SECOND;
    while (!isOver && sends.length < due && running.size < IN_FLIGHT_MAX) {
      const one = send(sends.length).catch((error: unknown) => void failures.push(error));
      running.add(one);
      void one.finally(() => running.delete(one));
    }
  }

  const endPace = repeat(systemClock, TICK_MS, async () => {
    ticks++;
    sendDue();
    watch.stir();
  });
  onTestFinished(endPace);

  return {
    acknowledged,
    async nextAcknowledged(after) {
      const isNext = ({ endedAt }: Send): boolean => endedAt > after;
      await watch.until(() => sends.some(isNext));
      return Math.min(...sends.filter(isNext).map(({ endedAt }) => endedAt));
    },
    count() {
      const ends = sends.map(({ endedAt }) => endedAt).toSorted((a, b) => a - b);
      const seconds = ((ends.at(-1) ?? 0) - beganAt) / 1000;
      return {
        acknowledged: acknowledged.size,
        perSecond: Math.round(acknowledged.size / seconds),
        longestGapMs: Math.round(Math.max(...ends.map((end, at) => end - (ends[at - 1] ?? end)))),
      };
    },
    async stop() {
      isOver = true;
      await Promise.all(running);
      endPace();
      expect(failures).toEqual([]);
    },
  };
}

/** Returns the id of the email; undefined if the node did not acknowledge it. */
async function ask({ apiKey, from }: Program, node: string, n: number): Promise<string | undefined> {
  const body = { from, to: [`r${n}@d${n % 7}.example`], subject: `Number ${n}`, text: 'A line.' };
  try {
    const response = await fetch(`${node}/emails`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'user-agent': 'rasket-tests/1',
        'content-type': 'application/json',
        'idempotency-key': `send-${n}`,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { id, name } = (await response.json()) as { id?: string; name?: string };
    if (response.status === 200) return id;
    if (response.status < 500 && name !== 'concurrent_idempotent_requests')
      throw new Refused(`a send was answered with ${response.status} ${name}`);
  } catch (error) {
    if (error instanceof Refused) throw error;
  }
  return undefined;
}

class Refused extends Error {}

async function listFindings(node: string): Promise<string[]> {
  const { findings } = (await (await fetch(`${node}/ready`)).json()) as { findings: { code: string }[] };
  return findings.map(({ code }) => code);
}

const countSessions = async (server: PgMember, database: string, application: string): Promise<number> => {
  const sql = `select count(*)::int as n from pg_stat_activity where application_name = '${application}'`;
  return (await server.query<{ n: number }>(sql, database))[0]?.n ?? 0;
};

/** Checks a former primary that runs and accepts writes. */
async function mustNotBeUsed(
  former: PgMember,
  { database, url, program }: { database: string; url: string; program: Program },
): Promise<void> {
  const sessions = [
    await countSessions(former, database, 'rasket'),
    await countSessions(former, database, 'rasket listener'),
  ];
  expect(sessions).toEqual([0, 0]);
  // A process that knows nothing of the failover finds the new one as long as that answers.
  const fresh = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
  expect(await fresh.get('select inet_server_port() as port')).not.toEqual({ port: former.port });
  expect(fresh.rivalServers()?.hosts).toEqual([`127.0.0.1:${former.port}`]);
  await fresh.close();
  // A node remembers the failover, also when only the former primary answers.
  const timelineFile = path.join(scratchFolder('rasket-timeline-'), 'timeline');
  copyFileSync(path.join(program.dataDir, TIMELINE_FILE), timelineFile);
  const alone = new URL(former.url);
  alone.pathname = `/${database}`;
  const mindful = await openDb({ driver: 'pg', url: alone.href, file: '', poolMax: 1, timelineFile });
  await expect(mindful.all('select 1 as one')).rejects.toThrow(/former primary/);
  await mindful.close();
}

/** Starts a PgBouncer for each server, and returns the URL with both. */
async function startBouncers(pair: PgPair, database: string): Promise<string> {
  const bouncers = await Promise.all(pair.members.map(({ url }) => startPgBouncer(BOUNCER, url)));
  onTestFinished(async () => void (await Promise.all(bouncers.map((bouncer) => bouncer.stop()))));
  return pair.buildUrl(
    database,
    bouncers.map(({ port }) => port),
  );
}
