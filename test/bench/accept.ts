import path from 'node:path';
import type { Appliance } from './appliance.ts';
import { askCounts, post, type Bench } from './bench.ts';
import type { Helper } from './children.ts';
import { median, shown } from './figures.ts';
import { smallLoad, type Load } from './messages.ts';
import { readUsage, usageSince } from './process-usage.ts';

const BODY_BYTES = 4096;
/** In addition to the bodies: addresses, subject, ids, the queue row and the event. */
const ROW_BYTES = BODY_BYTES + 900;

interface Round {
  bare32: number;
  bare128: number;
  sqlite: number;
  sqliteCpuMicros: number;
  ours32: Accepted;
  ours128: Accepted;
  alone128: Accepted;
}
interface Accepted {
  perSecond: number;
  p50: number;
  p99: number;
  /** Share of one core used by the server's main thread, and by all its threads together. */
  main: number;
  all: number;
  /** Processor microseconds of the main thread per email, including all other work meanwhile. */
  mainMicros: number;
  deliveredPerSecond: number;
}

/** Measures durable accepts per second while the same process delivers the accepted emails. */
export async function benchAccept(bench: Bench): Promise<void> {
  const load = await bench.helper('./load-process.ts');
  const rounds: Round[] = [];
  for (let i = 0; i < (bench.quick ? 1 : 3); i++) rounds.push(await measureRound(bench, load, i));
  report(bench, rounds);
}

async function measureRound(bench: Bench, load: Helper, round: number): Promise<Round> {
  const what = smallLoad(BODY_BYTES);
  const seconds = bench.quick ? 1 : 2;
  const bare = await bench.helper('./fastify-process.ts');
  const { url } = await bare.ask<{ url: string }>({});
  await post(load, { url }, { load: what, connections: 32, amount: 2000 });
  const bare32 = (await post(load, { url }, { load: what, connections: 32, seconds })).perSecond;
  const bare128 = (await post(load, { url }, { load: what, connections: 128, seconds })).perSecond;
  await bare.stop();
  const raw = await bench.helper('./sqlite-process.ts');
  const file = path.join(bench.folder('sqlite'), 'raw.db');
  const insert = (): Promise<{ perSecond: number; cpuMicros: number }> =>
    raw.ask({ file, seconds, rowBytes: ROW_BYTES });
  const before = await insert();
  const [ours32, ours128] = await withAppliance(bench, load, undefined, round, async (appliance, sink) => [
    await accept(load, appliance, sink, what, 32, seconds),
    await accept(load, appliance, sink, what, 128, seconds + 1),
  ]);
  const [alone128] = await withAppliance(bench, load, 'http', round, async (appliance, sink) => [
    await accept(load, appliance, sink, what, 128, seconds),
  ]);
  const after = await insert();
  await raw.stop();
  if (!ours32 || !ours128 || !alone128) throw new Error('a round measures all loads');
  return {
    bare32,
    bare128,
    sqlite: (before.perSecond + after.perSecond) / 2,
    sqliteCpuMicros: (before.cpuMicros + after.cpuMicros) / 2,
    ours32,
    ours128,
    alone128,
  };
}

/** Starts a new server for each round: undelivered mail of an earlier one would disturb the next baseline. */
async function withAppliance(
  bench: Bench,
  load: Helper,
  roles: string | undefined,
  round: number,
  measure: (appliance: Appliance, sink: Helper) => Promise<Accepted[]>,
): Promise<Accepted[]> {
  const sink = await bench.helper('./sink-process.ts');
  const { port } = await askCounts(sink);
  const profile = round === 0 ? { profile: `accept-${roles ?? 'with-delivery'}` } : {};
  const appliance = await bench.appliance({ sinkPort: port, ...(roles === undefined ? {} : { roles }), ...profile });
  await post(load, appliance, { load: smallLoad(BODY_BYTES), connections: 32, amount: 1500 });
  const measured = await measure(appliance, sink);
  await (bench.profileDir === undefined ? appliance.kill() : appliance.stop());
  await sink.stop();
  return measured;
}

async function accept(
  load: Helper,
  appliance: Appliance,
  sink: Helper,
  what: Load,
  connections: number,
  seconds: number,
): Promise<Accepted> {
  const before = readUsage(appliance.pid);
  const { accepted } = await askCounts(sink);
  const begin = performance.now();
  const { perSecond, answered, p50, p99 } = await post(load, appliance, { load: what, connections, seconds });
  const took = (performance.now() - begin) / 1000;
  const used = usageSince(appliance.pid, before);
  const delivered = (await askCounts(sink)).accepted - accepted;
  const share = { main: used.mainSeconds / took, all: used.allSeconds / took };
  const mainMicros = (used.mainSeconds / answered) * 1e6;
  return { perSecond, p50, p99, ...share, mainMicros, deliveredPerSecond: delivered / took };
}

function report(bench: Bench, measured: Round[]): void {
  const of = (pick: (round: Round) => number): number => median(measured.map(pick));
  const bare = (n: 32 | 128) => ({ name: 'bare fastify', value: of((round) => round[`bare${n}`]) });
  const sqlite = { name: 'rows, one a commit', value: of((round) => round.sqlite) };
  const atLeastHalf = { is: 'at least', value: 0.5, of: 'ratio' } as const;
  for (const n of [32, 128] as const) {
    const ours = (pick: (accepted: Accepted) => number): number => of((round) => pick(round[`ours${n}`]));
    const value = ours((accepted) => accepted.perSecond);
    const name = `accept, ${n} connections, delivery running`;
    const note =
      `meanwhile ${shown(ours((a) => a.deliveredPerSecond))} delivered/s; server: main thread ${shown(ours((a) => a.main))}, ` +
      `all threads ${shown(ours((a) => a.all))} cores`;
    const rounds = {
      value: measured.map((round) => round[`ours${n}`].perSecond),
      baseline: measured.map((round) => round.sqlite),
    };
    bench.add({ name, value, unit: '/s', baseline: sqlite, target: atLeastHalf, note, rounds });
    bench.add({ name: `  against bare fastify`, value, unit: '/s', baseline: bare(n) });
    bench.add({ name: `  p50`, value: ours((a) => a.p50), unit: 'ms' });
    const target = { is: 'at most', value: 100, of: 'value' } as const;
    bench.add({ name: `  p99`, value: ours((a) => a.p99), unit: 'ms', target });
  }
  const value = of((round) => round.alone128.perSecond);
  const main = of((round) => round.alone128.main);
  const name = 'accept, 128 connections, --roles http';
  const note = `server: main thread ${shown(main)} cores`;
  const rounds = {
    value: measured.map((round) => round.alone128.perSecond),
    baseline: measured.map((round) => round.sqlite),
  };
  bench.add({ name, value, unit: '/s', baseline: sqlite, note, rounds });
  bench.add({ name: '  p99', value: of((round) => round.alone128.p99), unit: 'ms' });
  const micros = { name: 'µs for a row', value: of((round) => round.sqliteCpuMicros) };
  const perEmail = of((round) => round.alone128.mainMicros);
  bench.add({ name: '  processor time of its main thread per email', value: perEmail, unit: 'µs', baseline: micros });
}
