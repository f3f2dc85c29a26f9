import path from 'node:path';
import { openDb } from '../../src/platform/db/index.ts';
import { openSecrets } from '../../src/platform/secrets/index.ts';
import { clickToken } from '../../src/protocol/track-links/index.ts';
import type { Appliance } from './appliance.ts';
import { askCounts, pause, post, type Bench } from './bench.ts';
import type { Helper } from './children.ts';
import { median, shown } from './figures.ts';
import type { LoadOrder, LoadResult } from './load-process.ts';
import { SENDER_DOMAIN, smallLoad } from './messages.ts';
import { readUsage, usageSince } from './process-usage.ts';

const CONNECTIONS = 32;
const EMAILS = 200;
/** Enough links that none is followed again within the second in which it would not count. */
const LINKS = 80_000;
/** An earlier click counts as a gateway's scan. */
const SCANNER_MS = 2000;
/** The first thousands of answers of any server are compiled while they are given. */
const WARM_UP = 20_000;
const RECORDED_MS_MAX = 60_000;

interface Round {
  bare: number;
  ours: number;
  p99: number;
  /** Processor time of the main thread for one answer. */
  bareMicros: number;
  micros: number;
  recorded: number;
  behindMs: number;
}

/** Measures redirects per second, with every click recorded after them. */
export async function benchRedirect(bench: Bench): Promise<void> {
  const load = await bench.helper('./load-process.ts');
  const rounds: Round[] = [];
  for (let i = 0; i < (bench.quick ? 1 : 3); i++) rounds.push(await measureRound(bench, load, i));
  const of = (pick: (round: Round) => number): number => median(rounds.map(pick));
  const baseline = { name: 'bare fastify', value: of((round) => round.bare) };
  bench.add({
    name: `click redirect, ${CONNECTIONS} connections, recorded behind`,
    value: of((round) => round.ours),
    unit: '/s',
    baseline,
    target: { is: 'at least', value: 0.5, of: 'ratio' },
    rounds: { value: rounds.map((round) => round.ours), baseline: rounds.map((round) => round.bare) },
    note:
      `${shown(of((round) => round.micros))} µs of the main thread for each, its recording included, to ${shown(of((round) => round.bareMicros))} of fastify’s; ` +
      `${shown(of((round) => round.recorded))} recorded, the last ${shown(of((round) => round.behindMs))} ms behind`,
  });
  bench.add({ name: '  p99', value: of((round) => round.p99), unit: 'ms' });
}

async function measureRound(bench: Bench, load: Helper, round: number): Promise<Round> {
  const seconds = bench.quick ? 1 : 3;
  const bare = await bench.helper('./fastify-process.ts');
  const { url } = await bare.ask<{ url: string }>({});
  const links = Array.from({ length: LINKS }, (_, n) => `/c/${n}`);
  await follow(load, { url, links, amount: WARM_UP });
  const bareUsed = readUsage(bare.pid);
  const before = await follow(load, { url, links, seconds });
  const bareMicros = (usageSince(bare.pid, bareUsed).mainSeconds / before.answered) * 1e6;

  const sink = await bench.helper('./sink-process.ts');
  const { port } = await askCounts(sink);
  const appliance = await bench.appliance({ sinkPort: port, ...(round === 0 ? { profile: 'redirect' } : {}) });
  const emailIds = await sendSome(load, appliance);
  await pause(SCANNER_MS);
  const tracked = await buildLinks(appliance, emailIds);
  const ours = { url: appliance.url, host: `track.${SENDER_DOMAIN}` };
  const warm = await follow(load, { ...ours, links: tracked.slice(0, WARM_UP), amount: WARM_UP });
  const used = readUsage(appliance.pid);
  const measured = await follow(load, { ...ours, links: tracked.slice(WARM_UP), seconds });
  const { recorded, behindMs } = await untilRecorded(appliance, warm.answered + measured.answered);
  const { mainSeconds } = usageSince(appliance.pid, used);
  await (bench.profileDir === undefined ? appliance.kill() : appliance.stop());
  await sink.stop();
  const after = await follow(load, { url, links, seconds });
  await bare.stop();
  return {
    bare: (before.perSecond + after.perSecond) / 2,
    ours: measured.perSecond,
    p99: measured.p99,
    bareMicros,
    micros: (mainSeconds / measured.answered) * 1e6,
    recorded,
    behindMs,
  };
}

async function follow(load: Helper, order: Omit<LoadOrder, 'connections'>): Promise<LoadResult> {
  const result = await load.ask<LoadResult>({ ...order, connections: CONNECTIONS });
  if (result.refused > 0) throw new Error(`${result.refused} links were not answered with 302`);
  return result;
}

/** Sends a few mails, which are enough: what is followed differs in its target, and a thousand clicks of each are recorded. */
async function sendSome(load: Helper, appliance: Appliance): Promise<string[]> {
  await post(load, appliance, { load: smallLoad(1024), connections: 8, amount: EMAILS });
  const ids: string[] = [];
  while (ids.length < EMAILS) {
    const after = ids.length === 0 ? '' : `&after=${ids.at(-1)}`;
    const page = (await appliance.call('GET', `/emails?limit=100${after}`)) as { data: { id: string }[] };
    if (page.data.length === 0) throw new Error(`${EMAILS} emails were sent and ${ids.length} are listed`);
    ids.push(...page.data.map((email) => email.id));
  }
  return ids;
}

async function buildLinks(appliance: Appliance, emailIds: string[]): Promise<string[]> {
  const domains = (await appliance.call('GET', '/domains')) as { data: { id: string }[] };
  const domainId = domains.data[0]?.id ?? '';
  const secrets = openSecrets(appliance.dataDir);
  const mac = (bytes: Buffer): Buffer => secrets.mac('click of a domain', bytes);
  return Array.from({ length: LINKS }, (_, n) => {
    const target = `https://www.example.com/landing/page?utm_source=mail&utm_campaign=bench&n=${n}`;
    return `/c/${clickToken({ emailId: emailIds[n % emailIds.length] ?? '', domainId, target }, mac)}`;
  });
}

/** Counts on a connection of its own until every answered click is recorded; a missing one makes the row worthless. */
async function untilRecorded(appliance: Appliance, answered: number): Promise<{ recorded: number; behindMs: number }> {
  const file = path.join(appliance.dataDir, 'rasket.db');
  const db = await openDb({ driver: 'better-sqlite3', file, url: '', poolMax: 1 });
  const begin = performance.now();
  try {
    for (;;) {
      const sql = `select count(*) as n from events where type = 'email.clicked'`;
      const recorded = Number((await db.get<{ n: number }>(sql))?.n);
      const behindMs = performance.now() - begin;
      if (recorded >= answered) return { recorded, behindMs };
      if (behindMs > RECORDED_MS_MAX) throw new Error(`${answered} clicks were answered and ${recorded} are recorded`);
      await pause(20);
    }
  } finally {
    await db.close();
  }
}
