import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { startPostgres } from '../rig/pg.ts';
import { startAppliance, type Appliance } from './appliance.ts';
import { askCounts, pause, post, type Bench } from './bench.ts';
import type { Helper } from './children.ts';
import { median } from './figures.ts';
import { smallLoad } from './messages.ts';
import { AS_IN_USE } from './postgres.ts';
import { readUsage, usageSince } from './process-usage.ts';
import type { SinkCount } from './sink-process.ts';

const CONNECTIONS = 32;

interface Run {
  perSecond: number;
  cpuSecondsPer1000: number;
}

/** Measures the same mail through one node, and half of it through each of two on the same PostgreSQL and the same cores, in turn. */
export async function benchNodes(bench: Bench): Promise<void> {
  const { url, stop } = await startPostgres({ settings: AS_IN_USE });
  bench.stopLater(stop);
  const loads = [await bench.helper('./load-process.ts'), await bench.helper('./load-process.ts')];
  const sink = await bench.helper('./sink-process.ts');
  const { port: sinkPort } = await askCounts(sink);
  const env = { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: url };
  const first = await bench.appliance({ sinkPort, env });
  const dataDir = secondFolder(bench, first);
  const amount = bench.quick ? 400 : 4000;
  const runs: Record<'one' | 'two', Run[]> = { one: [], two: [] };
  await runOnce({ loads, sink, nodes: [first] }, amount);
  for (let round = 0; round < (bench.quick ? 1 : 5); round++) {
    runs.one.push(await runOnce({ loads, sink, nodes: [first] }, amount));
    // The second node runs only while it is measured: it would poll, and take some of the mail of the first.
    const second = await startAppliance({ dataDir, dns: bench.dns, sinkPort, env, key: first.key });
    bench.stopLater(second.kill);
    await runOnce({ loads, sink, nodes: [first, second] }, amount / 4);
    runs.two.push(await runOnce({ loads, sink, nodes: [first, second] }, amount));
    await second.stop();
  }
  const of = (all: readonly Run[], pick: (run: Run) => number): number => median(all.map(pick));
  const rate = (run: Run): number => run.perSecond;
  const time = (run: Run): number => run.cpuSecondsPer1000;
  bench.add({
    name: 'two nodes on one PostgreSQL, 4 KB',
    value: of(runs.two, rate),
    unit: 'emails/s',
    baseline: { name: 'one node', value: of(runs.one, rate) },
    rounds: { value: runs.two.map(rate), baseline: runs.one.map(rate) },
    target: { is: 'at least', value: 0.95, of: 'ratio' },
  });
  bench.add({
    name: 'processor time of both nodes per 1,000 emails',
    value: of(runs.two, time),
    unit: 's',
    baseline: { name: 'of one node', value: of(runs.one, time) },
  });
}

/** Measures the same mail through one process, and through two that share its port on the same cores, in turn. */
export async function benchProcesses(bench: Bench): Promise<void> {
  const { url, stop } = await startPostgres({ settings: AS_IN_USE });
  bench.stopLater(stop);
  const loads = [await bench.helper('./load-process.ts'), await bench.helper('./load-process.ts')];
  const sink = await bench.helper('./sink-process.ts');
  const { port: sinkPort } = await askCounts(sink);
  const env = { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: url };
  const installed = await bench.appliance({ sinkPort, env });
  const { dataDir, key } = installed;
  await installed.stop();
  const amount = bench.quick ? 400 : 4000;
  const runs: Record<'1' | '2', Run[]> = { '1': [], '2': [] };
  for (let round = 0; round < (bench.quick ? 1 : 5); round++) {
    for (const processes of ['1', '2'] as const) {
      const settings = { ...env, RASKET_NODE_PROCESSES: processes };
      const appliance = await startAppliance({ dataDir, dns: bench.dns, sinkPort, env: settings, key });
      bench.stopLater(appliance.kill);
      await runOnce({ loads, sink, nodes: [appliance] }, amount / 4);
      runs[processes].push(await runOnce({ loads, sink, nodes: [appliance] }, amount));
      await appliance.stop();
    }
  }
  const rates = (all: readonly Run[]): number[] => all.map(({ perSecond }) => perSecond);
  bench.add({
    name: 'two processes that share a port, 4 KB',
    value: median(rates(runs['2'])),
    unit: 'emails/s',
    baseline: { name: 'one process', value: median(rates(runs['1'])) },
    rounds: { value: rates(runs['2']), baseline: rates(runs['1']) },
    target: { is: 'at least', value: 0.95, of: 'ratio' },
  });
}

/** Creates a second data folder: nodes of one installation share the key and the blobs. */
export function secondFolder(bench: Bench, { dataDir }: Appliance): string {
  const folder = bench.folder('second-node');
  mkdirSync(path.join(folder, 'run'), { mode: 0o700 });
  copyFileSync(path.join(dataDir, 'instance.key'), path.join(folder, 'instance.key'));
  symlinkSync(path.join(dataDir, 'blobs'), path.join(folder, 'blobs'));
  return folder;
}

interface Players {
  loads: Helper[];
  sink: Helper;
  nodes: Appliance[];
}

async function runOnce({ loads, sink, nodes }: Players, amount: number): Promise<Run> {
  const { accepted } = await askCounts(sink);
  const used = nodes.map(({ pid }) => readUsage(pid));
  const until = sink.ask<SinkCount>({ say: 'until', accepted: accepted + amount });
  // Awaited below, unless the posts fail first.
  until.catch(() => undefined);
  // Two processes send requests in either case, so that the sender is not what is measured.
  const posted = await Promise.all(
    loads.map((load, at) => {
      const how = { load: smallLoad(4096), connections: CONNECTIONS / 2, amount: amount / 2 };
      return post(load, nodes[at % nodes.length] ?? { url: '' }, how);
    }),
  );
  const done = await until;
  const took = (done.at - Math.min(...posted.map(({ startedAt }) => startedAt))) / 1000;
  await pause(300);
  const seconds = nodes.map(({ pid }, at) => usageSince(pid, used[at] ?? readUsage(pid)).allSeconds);
  return { perSecond: amount / took, cpuSecondsPer1000: (seconds.reduce((sum, one) => sum + one, 0) / amount) * 1000 };
}
