import type { ChildProcess } from 'node:child_process';

const START_MS = 45_000;
const STOP_MS = 45_000;

export interface Readiness {
  name: string;
  /** What the program has written to stderr so far. */
  said: readonly string[];
  isReady(said: string): boolean;
}

/** Resolves when a program in the foreground says that it is ready; rejects with its output if it ends before. */
export async function hasStarted(child: ChildProcess, { name, said, isReady }: Readiness): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (what: string): void => reject(new Error(`${name} ${what}:\n${said.join('')}`));
      timer = setTimeout(() => fail(`did not start within ${START_MS} ms`), START_MS);
      child.once('error', (error) => fail(`cannot be started, ${error.message}`));
      child.once('exit', (code) => fail(`ended by itself with ${code}`));
      child.stderr?.on('data', () => {
        if (isReady(said.join(''))) resolve();
      });
    });
  } finally {
    clearTimeout(timer);
  }
}

export async function stopProgram(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(timer);
}
