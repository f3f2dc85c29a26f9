import { startPostgres } from '../rig/pg.ts';
import { askCounts, type Bench } from './bench.ts';
import { measure, type Players, type Run } from './end-to-end.ts';
import { median } from './figures.ts';
import { smallLoad } from './messages.ts';

/** Settings of a server whose commits are on disk, with the memory that a small machine would give it. */
export const AS_IN_USE = [
  'fsync=on',
  'full_page_writes=on',
  'synchronous_commit=on',
  'autovacuum=on',
  'shared_buffers=256MB',
];

/** Measures the same mail through the same program on either database, in turn. */
export async function benchPostgres(bench: Bench): Promise<void> {
  const { url, stop } = await startPostgres({ settings: AS_IN_USE });
  bench.stopLater(stop);
  const load = await bench.helper('./load-process.ts');
  const sink = await bench.helper('./sink-process.ts');
  const rsa = await bench.helper('./rsa-process.ts');
  const { port: sinkPort } = await askCounts(sink);
  const env = { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: url };
  const onSqlite: Players = { load, sink, rsa, appliance: await bench.appliance({ sinkPort }) };
  const onPg: Players = { load, sink, rsa, appliance: await bench.appliance({ sinkPort, env, profile: 'postgres' }) };
  const runs: Record<'sqlite' | 'pg', Run[]> = { sqlite: [], pg: [] };
  for (let round = 0; round < (bench.quick ? 1 : 3); round++) {
    runs.sqlite.push(...(await measure(bench, onSqlite, smallLoad(4096), 8000)));
    runs.pg.push(...(await measure(bench, onPg, smallLoad(4096), 8000)));
  }
  const of = (all: readonly Run[], pick: (run: Run) => number): number => median(all.map(pick));
  const rate = (run: Run): number => run.emailsPerSecond;
  const time = (run: Run): number => run.cpuSecondsPer1000;
  bench.add({
    name: 'end to end on PostgreSQL, 4 KB',
    value: of(runs.pg, rate),
    unit: 'emails/s',
    baseline: { name: 'on SQLite', value: of(runs.sqlite, rate) },
    rounds: { value: runs.pg.map(rate), baseline: runs.sqlite.map(rate) },
    target: { is: 'at least', value: 0.65, of: 'ratio' },
  });
  bench.add({
    name: 'processor time of the server per 1,000 emails on PostgreSQL',
    value: of(runs.pg, time),
    unit: 's',
    baseline: { name: 'on SQLite', value: of(runs.sqlite, time) },
    target: { is: 'at most', value: 2, of: 'value' },
  });
}
