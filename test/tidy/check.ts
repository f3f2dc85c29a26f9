// `npm run check` runs everything that can be checked about the code without running the program. It prints one line
// per check with its time; the output of a check is shown only when it fails.
import { spawn, spawnSync } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { checks, type Check } from './checks.ts';

type Verdict = { name: string; passed: boolean; output: string; ms: number };

const root = path.resolve(import.meta.dirname, '../..');

/** Compilers make many objects that die young: more room for them saves a tenth of the time. */
const YOUNG = '--max-semi-space-size=64';

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !checks.some((check) => check.name === name));
if (unknown.length > 0) {
  console.error(`No check is called ${unknown.join(', ')}; there are: ${checks.map(({ name }) => name).join(', ')}.`);
  process.exit(64);
}

const started = performance.now();
// Types and imports are checked against the current contract.
spawnSync(process.execPath, [path.join(root, 'src/contract/generate.ts')], { cwd: root, stdio: 'inherit' });
const waiting = checks.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const verdicts: Verdict[] = [];
const lanes = Math.min(os.availableParallelism(), 4);
await Promise.all(Array.from({ length: lanes }, work));

const failed = verdicts.filter(({ passed }) => !passed);
for (const { name, output } of failed) console.error(`\n── ${name} ──\n${output.trim()}`);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
if (failed.length > 0) {
  console.error(
    `\n${failed.length} of ${verdicts.length} checks failed (${failed.map(({ name }) => name).join(', ')}), ${seconds} s`,
  );
  process.exitCode = 1;
} else {
  console.log(`${verdicts.length} checks passed, ${seconds} s`);
}

async function work(): Promise<void> {
  for (let check = waiting.shift(); check; check = waiting.shift()) {
    const verdict = await run(check);
    verdicts.push(verdict);
    console.log(
      `${verdict.passed ? '✓' : '✗'} ${verdict.name.padEnd(16)} ${(verdict.ms / 1000).toFixed(1).padStart(5)} s`,
    );
  }
}

function run({ name, file, args, env }: Check): Promise<Verdict> {
  const from = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [YOUNG, file, ...args], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const collect = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const finish = (passed: boolean): void => resolve({ name, passed, output, ms: performance.now() - from });
    child.once('error', (error) => {
      output += String(error);
      finish(false);
    });
    child.once('close', (code) => finish(code === 0));
  });
}
