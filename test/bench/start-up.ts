import { spawn } from 'node:child_process';
import { inheritedEnvironment, initialise, LAUNCHER, startAppliance } from './appliance.ts';
import type { Bench } from './bench.ts';
import { stopChild, watch } from './children.ts';
import { median } from './figures.ts';

/** Measures what a command costs before it does anything, and what the plainest call costs. */
export async function benchStartUp(bench: Bench): Promise<void> {
  const dataDir = bench.folder('data');
  const { api_key: key } = initialise(dataDir, bench.dns);
  const answering = await startAppliance({ dataDir, dns: bench.dns, sinkPort: 1 });
  const env = { RASKET_URL: answering.url, RASKET_API_KEY: key };
  const starts = [
    { command: process.execPath, args: ['-e', '0'], took: [] as number[] },
    { command: LAUNCHER, args: ['--version'], took: [] as number[] },
    { command: LAUNCHER, args: ['emails', 'list'], took: [] as number[] },
  ] as const;
  // The first start of each fills caches: the file system's, and the launcher's of compiled code.
  for (const { command, args } of starts) await timed(command, args, env);
  for (let i = 0; i < (bench.quick ? 7 : 20); i++) {
    for (const { command, args, took } of starts) took.push(await timed(command, args, env));
  }
  await answering.stop();
  const [bare, version, list] = starts;
  const baseline = { name: 'ms node -e 0', value: median(bare.took) };
  const target = { is: 'at most', value: 3, of: 'ratio' } as const;
  bench.add({ name: 'start-up, rasket --version', value: median(version.took), unit: 'ms', baseline, target });
  bench.add({ name: 'rasket emails list', value: median(list.took), unit: 'ms', baseline });
  const ready: number[] = [];
  for (let i = 0; i < (bench.quick ? 2 : 5); i++) {
    const appliance = await startAppliance({ dataDir, dns: bench.dns, sinkPort: 1 });
    ready.push(appliance.readyMs);
    await appliance.stop();
  }
  bench.add({ name: 'start-up, rasket serve until ready', value: median(ready), unit: 'ms', baseline });
}

async function timed(command: string, args: readonly string[], env: Record<string, string>): Promise<number> {
  const begin = performance.now();
  const child = spawn(command, args, { env: { ...inheritedEnvironment(), ...env }, stdio: 'ignore' });
  watch(child);
  const code = await new Promise((done) => child.once('exit', done));
  if (code !== 0) {
    await stopChild(child, 'SIGKILL');
    throw new Error(`${command} ${args.join(' ')} ended with ${String(code)}`);
  }
  return performance.now() - begin;
}
