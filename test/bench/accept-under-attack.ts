import { spawnSync } from 'node:child_process';
import { initialise, LAUNCHER, settings, startAppliance, verifiedDomain, type Appliance } from './appliance.ts';
import type { Arrivals } from './arrivals-process.ts';
import { pause, type Bench } from './bench.ts';
import type { Helper } from './children.ts';
import { median, shown } from './figures.ts';

/** The place of an attack: an installation with a team of its own, and name servers that answer as it likes. */
export interface Field {
  bench: Bench;
  appliance: Appliance;
  /** The key of the attacking team. */
  key: string;
  from: string;
  /** The TCP port of all mail servers, on any address of 127.0.0.0/8. */
  smtpPort: number;
}

export interface Attack {
  name: string;
  /** Resolves when the attack is under way, with a function that ends it. */
  start(field: Field): Promise<() => Promise<void>>;
}

/** The probes take 20 s, so that they do not see only the burst at the start of an attack. */
const PROBES = 1000;
const PROBE_EVERY_MS = 20;
const WARM_UP = 200;
const ARRIVED_MS_MAX = 60_000;

/** Measures the time of another team's small mail from its POST to the sink's 250, during an attack and without it. */
export async function benchBesideAttack(bench: Bench, attack: Attack): Promise<void> {
  const without: number[] = [];
  const beside: number[] = [];
  const middles: number[] = [];
  const worst: number[] = [];
  for (let i = 0; i < (bench.quick ? 1 : 3); i++) {
    const sink = await bench.helper('./arrivals-process.ts');
    const { field, probe } = await preparedField(bench, sink);
    await waits(probe, WARM_UP);
    without.push(percentile(await waits(probe, bench.quick ? PROBES / 3 : PROBES), 0.99));
    const stop = await attack.start(field);
    const attacked = await waits(probe, bench.quick ? PROBES / 3 : PROBES);
    beside.push(percentile(attacked, 0.99));
    middles.push(percentile(attacked, 0.5));
    worst.push(Math.max(...attacked));
    await stop();
    await field.appliance.kill();
    await sink.stop();
  }
  bench.add({
    name: `another team's small mail alongside ${attack.name}, p99`,
    value: median(beside),
    unit: 'ms',
    baseline: { name: 'ms without it', value: median(without) },
    target: { is: 'at most', value: 2, of: 'ratio' },
    rounds: { value: beside, baseline: without },
    note: `from POST to the sink; the median during it ${shown(median(middles))} ms, the slowest ${shown(median(worst))} ms`,
  });
}

export interface Probe {
  appliance: Appliance;
  from: string;
  sink: Helper;
}

const VICTIM_DOMAIN = 'news.victim.test';
const ATTACKER_DOMAIN = 'news.attacker.test';

export async function preparedField(
  bench: Bench,
  sink: Helper,
  roles?: string,
): Promise<{ field: Field; probe: Probe }> {
  const { port: smtpPort } = await sink.ask<Arrivals>({ say: 'forget' });
  const dataDir = bench.folder('beside');
  const { api_key: key } = initialise(dataDir, bench.dns);
  const attackerKey = secondTeam(bench, dataDir);
  const appliance = await startAppliance({
    dataDir,
    dns: bench.dns,
    sinkPort: smtpPort,
    key,
    ...(roles === undefined ? {} : { roles }),
  });
  bench.stopLater(() => appliance.kill());
  await verifiedDomain(appliance, bench.dns, VICTIM_DOMAIN);
  await verifiedDomain({ call: appliance.callAs(attackerKey) }, bench.dns, ATTACKER_DOMAIN);
  return {
    field: { bench, appliance, key: attackerKey, from: `a@${ATTACKER_DOMAIN}`, smtpPort },
    probe: { appliance, from: `hello@${VICTIM_DOMAIN}`, sink },
  };
}

function secondTeam(bench: Bench, dataDir: string): string {
  const env = settings({ dns: bench.dns, sinkPort: 1 });
  const made = spawnSync(LAUNCHER, ['teams', 'create', 'Attacker', '--data', dataDir, '--json'], {
    env,
    encoding: 'utf8',
  });
  if (made.status !== 0) throw new Error(`rasket teams create failed: ${made.stderr}`);
  return (JSON.parse(made.stdout) as { api_key: string }).api_key;
}

/** Returns milliseconds from each POST to its arrival; POSTs are sent at a fixed rate, whether or not the last one has arrived. */
export async function waits({ appliance, from, sink }: Probe, count: number): Promise<number[]> {
  await sink.ask<Arrivals>({ say: 'forget' });
  const began: [address: string, at: number][] = [];
  const posts: Promise<unknown>[] = [];
  for (let n = 0; n < count; n++) {
    const to = `reader${n}@mail${n % 10}.reader.test`;
    began.push([to, performance.timeOrigin + performance.now()]);
    posts.push(appliance.call('POST', '/emails', { from, to, subject: 'Your order', text: 'It is on its way.' }));
    await pause(PROBE_EVERY_MS);
  }
  await Promise.all(posts);
  const late = pause(ARRIVED_MS_MAX).then((): never => {
    throw new Error(`not all of ${count} emails arrived in ${ARRIVED_MS_MAX} ms`);
  });
  const { at } = await Promise.race([sink.ask<Arrivals>({ say: 'until', count }), late]);
  return began.map(([to, postedAt]) => (at[to] ?? NaN) - postedAt);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
