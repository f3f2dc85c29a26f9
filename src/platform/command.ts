import { spawn } from 'node:child_process';
import os from 'node:os';

export type CommandEnd =
  | { kind: 'done' }
  /** `said` is its output on standard error. */
  | { kind: 'failed'; why: string; said: string };

const SAID_BYTES_MAX = 2048;
/** The program does not inherit our environment, which contains keys and addresses of databases. */
const PATHS = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Runs a program. Never rejects. A program that ignores its input is not an error. */
export function runCommand(
  [program = '', ...args]: readonly string[],
  { input, timeoutMs }: { input: string; timeoutMs: number },
): Promise<CommandEnd> {
  return new Promise((resolve) => {
    const env = { PATH: PATHS, HOME: os.homedir(), LANG: 'C.UTF-8' };
    // A process group of its own, so that its children can be ended with it.
    const child = spawn(program, args, { env, stdio: ['pipe', 'ignore', 'pipe'], detached: true });
    let said = '';
    const end = (fault?: string): void => {
      clearTimeout(late);
      resolve(fault === undefined ? { kind: 'done' } : { kind: 'failed', why: fault, said });
    };
    const late = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      end(`it did not end within ${timeoutMs / 1000} seconds`);
    }, timeoutMs);
    child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(0, SAID_BYTES_MAX)));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', ({ code, message }: NodeJS.ErrnoException) => end(`it did not start (${code ?? message})`));
    child.once('exit', (code, signal) =>
      end(code === 0 ? undefined : `it ended with ${code === null ? signal : `the code ${code}`}`),
    );
  });
}
