import { fork, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Ended } from './in-process.ts';

/** A command as it comes to the host: everything that a process is started with, but for standard input, which is empty. */
export interface HostedCall {
  words: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

/** `isLast` where the process has become another than it was, such as one of another account. */
export type HostedAnswer = { code: number; isLast: boolean } | { fault: string };

/** Stands behind what one command has written. */
export const END = '\u0000the command has ended\u0000';

/** Read by Node.js or the C library at its start alone: a command that is given other values needs its own process. */
const OF_THE_START = /^(NODE_(?!COMPILE_CACHE$)|LD_|FAKETIME|UV_|MALLOC_)/;

const startsWith = (env: HostedCall['env']): string =>
  JSON.stringify(Object.entries(env).filter(([name, value]) => OF_THE_START.test(name) && value !== undefined));

let host: ChildProcess | undefined;
let startedWith = '';
let isBusy = false;

/** Two commands at once are two processes, so that they meet on the data folder as they would. */
export const isHostFree = ({ env }: Pick<HostedCall, 'env'>): boolean =>
  !isBusy && (host === undefined || startsWith(env) === startedWith);

/**
 * Runs a command on a data folder in a process that outlives it: a tenth of the work of a process for each, most of which
 * is spent on loading the program. The process is started by the first command and ends with this one.
 */
export async function runHosted(call: HostedCall, patienceMs: number): Promise<Ended> {
  const process = (host ??= startHost(call.env));
  isBusy = true;
  const late = setTimeout(() => process.kill('SIGKILL'), patienceMs);
  const heard = [process.stdout, process.stderr].map((stream) => untilEnd(stream as Readable));
  try {
    const answer = await waitForAnswer(process, call);
    if ('fault' in answer) throw new Error(`rasket ${call.words.join(' ')}: ${answer.fault}`);
    const [stdout = '', stderr = ''] = await Promise.all(heard);
    if (answer.isLast) letGo(process);
    return { stdout, stderr, code: answer.code };
  } catch (error) {
    letGo(process);
    throw error;
  } finally {
    clearTimeout(late);
    isBusy = false;
  }
}

function startHost(env: HostedCall['env']): ChildProcess {
  startedWith = startsWith(env);
  const { NODE_COMPILE_CACHE } = process.env;
  const started = fork(path.join(import.meta.dirname, 'command-host-process.ts'), {
    env: { ...env, NODE_COMPILE_CACHE, UV_THREADPOOL_SIZE: '8' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  // It waits from one file of tests to the next, and is nothing that a file left behind.
  for (const one of [started, started.channel, started.stdout, started.stderr])
    (one as { unref(): void } | null | undefined)?.unref();
  return started;
}

function letGo(process: ChildProcess): void {
  if (host === process) host = undefined;
  process.kill('SIGKILL');
}

/** Returns everything written until the command has ended, also by processes that it has started. */
function untilEnd(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      const text = Buffer.concat(chunks.slice(-2)).toString();
      if (text.endsWith(END)) finish();
    };
    const finish = (): void => {
      stream.off('data', onData).off('end', finish);
      resolve(Buffer.concat(chunks).toString().replace(END, ''));
    };
    stream.on('data', onData).on('end', finish);
  });
}

function waitForAnswer(process: ChildProcess, call: HostedCall): Promise<HostedAnswer> {
  return new Promise((resolve, reject) => {
    const whenGone = (code: number | null, signal: string | null): void =>
      reject(new Error(`the process that ran rasket ${call.words.join(' ')} ended with ${code ?? signal}`));
    process.once('exit', whenGone);
    process.once('message', (answer: HostedAnswer) => {
      process.off('exit', whenGone);
      resolve(answer);
    });
    process.send(call);
  });
}
