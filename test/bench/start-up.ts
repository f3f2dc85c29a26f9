import { spawn } from 'node:child_process';
import { inheritedEnvironment, initialise, LAUNCHER, startAppliance } from './appliance.ts';
import type { Bench } from './bench.ts';
import { stopChild, watch } from './children.ts';
import { median } from './figures.ts';

/** What a command costs before it does anything. */
export async function benchStartUp(bench: Bench): Promise<void> {
  const rounds = bench.quick ? 7 : 20;
  const bare: number[] = [];
  const ours: number[] = [];
  // The first start of each fills caches: the file system's, and the launcher's of compiled code.
  await timed(process.execPath, ['-e', '0']);
  await timed(LAUNCHER, ['--version']);
  for (let i = 0; i < rounds; i++) {
    bare.push(await timed(process.execPath, ['-e', '0']));
    ours.push(await timed(LAUNCHER, ['--version']));
  }
  const baseline = { name: 'ms node -e 0', value: median(bare) };
  const target = { is: 'at most', value: 3, of: 'ratio' } as const;
  bench.add({ name: 'start-up, rasket --version', value: median(ours), unit: 'ms', baseline, target });
  const dataDir = bench.folder('data');
  initialise(dataDir, bench.dns);
  const ready: number[] = [];
  for (let i = 0; i < (bench.quick ? 2 : 5); i++) {
    const appliance = await startAppliance({ dataDir, dns: bench.dns, sinkPort: 1 });
    ready.push(appliance.readyMs);
    await appliance.stop();
  }
  bench.add({ name: 'start-up, rasket serve until ready', value: median(ready), unit: 'ms', baseline });
}

async function timed(command: string, args: string[]): Promise<number> {
  const begin = performance.now();
  const child = spawn(command, args, { env: inheritedEnvironment(), stdio: 'ignore' });
  watch(child);
  const code = await new Promise((done) => child.once('exit', done));
  if (code !== 0) {
    await stopChild(child, 'SIGKILL');
    throw new Error(`${command} ${args.join(' ')} ended with ${String(code)}`);
  }
  return performance.now() - begin;
}
