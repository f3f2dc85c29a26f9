import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { bareEnvironment, pgEnvironment } from './environment.ts';

/** It is not there, it is too old, or it ended with a word of its own. */
export class PgProgramFault extends Error {
  override readonly name = 'PgProgramFault';
}

export type PgProgram = 'pg_dump' | 'pg_restore';

export interface DumpOrder {
  /** The folder of the programs; empty for those that the system has. */
  programs: string;
  url: string;
  snapshot: string;
  file: string;
  signal?: AbortSignal | undefined;
}

const SAID_CHARS_MAX = 2000;

interface RunOptions {
  programs: string;
  env?: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
  /** Is handed what it writes to its standard output, as it comes. */
  onOutput?: (chunk: Buffer) => void;
}

/** The first number of its version, and all of it. */
export async function dumpVersion(programs: string): Promise<{ major: number; version: string }> {
  let said = '';
  await runProgram('pg_dump', ['--version'], { programs, onOutput: (chunk) => (said += chunk.toString()) });
  const [, version = '', major = ''] = /\(PostgreSQL\) ((\d+)\S*)/.exec(said) ?? [];
  if (version === '') throw new PgProgramFault(`pg_dump says no version: ${JSON.stringify(said.slice(0, 200))}`);
  return { major: Number(major), version };
}

/** Writes what the snapshot sees, synced. */
export const dumpDatabase = async ({ programs, url, snapshot, file, signal }: DumpOrder): Promise<void> =>
  runProgram('pg_dump', ['--format=custom', '--no-password', `--snapshot=${snapshot}`, `--file=${file}`], {
    programs,
    env: await pgEnvironment(url),
    signal,
  });

/** Into an empty database, all of it or nothing. */
export async function restoreDump(order: { programs: string; url: string; file: string }): Promise<void> {
  const { programs, url, file } = order;
  const env = await pgEnvironment(url);
  const how = ['--no-owner', '--no-privileges', '--exit-on-error', '--single-transaction', '--no-password'];
  return runProgram('pg_restore', [...how, `--dbname=${env.PGDATABASE ?? ''}`, file], { programs, env });
}

/** Ends well, or with a fault that says what the program said. */
export async function runProgram(program: PgProgram, args: readonly string[], options: RunOptions): Promise<void> {
  const { programs, env = bareEnvironment(), signal, onOutput } = options;
  const child = spawn(programs === '' ? program : path.join(programs, program), args, {
    env,
    stdio: ['ignore', onOutput ? 'pipe' : 'ignore', 'pipe'],
    ...(signal ? { signal } : {}),
  });
  if (onOutput) child.stdout?.on('data', onOutput);
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(0, SAID_CHARS_MAX)));
  const ended = await endOf(child, program, programs);
  if (ended === 0) return;
  const words = said.trim().replaceAll(/\s*\n\s*/g, '; ');
  throw new PgProgramFault(words === '' ? `${program} ended with ${ended}` : words);
}

function endOf(child: ChildProcess, program: PgProgram, programs: string): Promise<number | string> {
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const fault = notStarted(error, program, programs);
      // One that was broken off is told to end, and has not yet.
      if (error.code === 'ABORT_ERR') child.once('close', () => reject(fault));
      else reject(fault);
    });
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'no code'));
  });
}

function notStarted({ code, message }: NodeJS.ErrnoException, program: PgProgram, programs: string): PgProgramFault {
  if (code === 'ABORT_ERR') return new PgProgramFault(`${program} was broken off`);
  if (code !== 'ENOENT' && code !== 'EACCES') return new PgProgramFault(`${program} did not start: ${message}`);
  const where = programs === '' ? 'in /usr/bin or the like' : `in ${programs} (backup.pg_programs)`;
  return new PgProgramFault(
    `${program} ${code === 'ENOENT' ? 'is not' : 'may not be run'} ${where}; install PostgreSQL's client programs (Debian: postgresql-client), or name their folder in backup.pg_programs`,
  );
}
