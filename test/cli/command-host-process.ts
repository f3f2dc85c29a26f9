// The process behind command-host.ts: runs one command after the other, each as if the process had been started for it.
import { setImmediate, setTimeout } from 'node:timers/promises';
import { runProgram } from '../../bin/program.ts';
import { END, type HostedAnswer, type HostedCall } from './command-host.ts';
import { version } from './in-process.ts';

/** `bin/main.ts` begins with this. */
process.umask(0o077);

/** So long a process may live on after its command before that counts as a handle that nobody closes. */
const LIVES_ON_MS_MAX = 10_000;
/** After a file was read as a stream, Node.js keeps one of these to be used again. */
const KEPT = new Map([['FileHandleReadWrap', 1]]);

const owner = process.getuid?.();

process.on('disconnect', () => process.exit());
process.on('message', (call: HostedCall) => {
  void run(call)
    .catch((error: unknown): HostedAnswer => ({ fault: String(error) }))
    .then((answer) => {
      for (const stream of [process.stdout, process.stderr]) stream.write(END);
      process.send?.(answer);
    });
});

async function run({ words, env, cwd }: HostedCall): Promise<HostedAnswer> {
  const before = alive();
  const listeners = listenersOfProcess();
  become(env, cwd);
  process.exitCode = undefined;
  process.exitCode = await runProgram(['node', 'rasket', ...words], version, process);
  await untilOver(before);
  exitAsProcess(listeners);
  const code = Number(process.exitCode ?? 0);
  process.exitCode = undefined;
  return { code, isLast: process.getuid?.() !== owner };
}

function become(env: HostedCall['env'], cwd: string): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) Reflect.deleteProperty(process.env, name);
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
  process.chdir(cwd);
}

function alive(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** A process ends when nothing keeps it alive, and hangs where something always does. */
async function untilOver(before: Map<string, number>): Promise<void> {
  const until = performance.now() + LIVES_ON_MS_MAX;
  const left = (): string[] =>
    [...alive()].filter(([kind, count]) => count > (before.get(kind) ?? KEPT.get(kind) ?? 0)).map(([kind]) => kind);
  await setImmediate();
  while (left().length > 0) {
    if (performance.now() > until)
      throw new Error(`it would not end, because of what it left open: ${left().join(', ')}`);
    await setTimeout(1);
  }
}

const EVENTS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'] as const;

const listenersOfProcess = () => new Map(EVENTS.map((name) => [name, process.listeners(name as 'exit')]));

/** Does what was to be done at the exit, and removes the listeners of signals. */
function exitAsProcess(before: ReturnType<typeof listenersOfProcess>): void {
  for (const name of EVENTS) {
    for (const listener of process.listeners(name as 'exit')) {
      if (before.get(name)?.includes(listener)) continue;
      process.off(name, listener);
      if (name === 'exit') listener.call(process, Number(process.exitCode ?? 0));
    }
  }
}
