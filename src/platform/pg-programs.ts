import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { existsSync } from 'node:fs';
import os from 'node:os';
import { partsOfPgUrl } from './db/index.ts';

/** The bundles of trusted authorities on Debian, Fedora and Alpine. */
const BUNDLES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];

/** The usual folders of programs. */
const PATHS = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The minimal environment of any program, without our secrets. A `.pgpass` is found in the home folder. */
const bareEnvironment = (): NodeJS.ProcessEnv => ({ PATH: PATHS, HOME: os.homedir(), LC_ALL: 'C' });

/** Returns the environment in which PostgreSQL's own programs reach the same database as `pg` does by this URL. */
export async function pgEnvironment(url: string): Promise<NodeJS.ProcessEnv> {
  const { host, port, user, database, password } = await partsOfPgUrl(url);
  const named = { PGHOST: host, PGPORT: port, PGUSER: user, PGDATABASE: database, PGPASSWORD: password };
  return {
    ...bareEnvironment(),
    ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== '')),
    PGAPPNAME: 'rasket backup',
    ...toTlsVariables(url),
  };
}

/** `pg` verifies the server whenever TLS is configured, unless configured otherwise; make the programs do the same. */
function toTlsVariables(url: string): NodeJS.ProcessEnv {
  const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
  const files = Object.fromEntries(
    Object.entries({ PGSSLROOTCERT: 'sslrootcert', PGSSLCERT: 'sslcert', PGSSLKEY: 'sslkey' }).flatMap(
      ([name, parameter]) => (query.has(parameter) ? [[name, query.get(parameter) ?? '']] : []),
    ),
  );
  const mode = query.get('sslmode') ?? (['true', '1'].includes(query.get('ssl') ?? '') ? 'verify-full' : '');
  if (mode === '') return files;
  if (mode === 'no-verify') return { ...files, PGSSLMODE: 'require' };
  if (mode === 'disable' || query.get('uselibpqcompat') === 'true') return { ...files, PGSSLMODE: mode };
  const bundle = BUNDLES.find((file) => existsSync(file));
  return { ...(bundle === undefined ? {} : { PGSSLROOTCERT: bundle }), ...files, PGSSLMODE: 'verify-full' };
}

/** The program is missing, too old, or has failed with a message. */
export class PgProgramFault extends Error {
  override readonly name = 'PgProgramFault';
}

type PgProgram = 'pg_dump' | 'pg_restore';

export interface DumpOrder {
  /** The folder of the programs; empty for those that the system finds. */
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
  /** Called with its standard output, in chunks. */
  onOutput?: (chunk: Buffer) => void;
}

/** Returns the first number of its version, and the whole version. */
export async function dumpVersion(programs: string): Promise<{ major: number; version: string }> {
  let said = '';
  await runProgram('pg_dump', ['--version'], { programs, onOutput: (chunk) => (said += chunk.toString()) });
  const [, version = '', major = ''] = /\(PostgreSQL\) ((\d+)\S*)/.exec(said) ?? [];
  if (version === '') throw new PgProgramFault(`pg_dump says no version: ${JSON.stringify(said.slice(0, 200))}`);
  return { major: Number(major), version };
}

/** Writes a dump of what the snapshot sees, synced. */
export const dumpDatabase = async ({ programs, url, snapshot, file, signal }: DumpOrder): Promise<void> =>
  runProgram('pg_dump', ['--format=custom', '--no-password', `--snapshot=${snapshot}`, `--file=${file}`], {
    programs,
    env: await pgEnvironment(url),
    signal,
  });

/** Restores into an empty database, completely or not at all. */
export async function restoreDump(order: { programs: string; url: string; file: string }): Promise<void> {
  const { programs, url, file } = order;
  const env = await pgEnvironment(url);
  const how = ['--no-owner', '--no-privileges', '--exit-on-error', '--single-transaction', '--no-password'];
  return runProgram('pg_restore', [...how, `--dbname=${env.PGDATABASE ?? ''}`, file], { programs, env });
}

/** Resolves on success; otherwise rejects with a fault that contains the program's message. */
async function runProgram(program: PgProgram, args: readonly string[], options: RunOptions): Promise<void> {
  const { programs, env = bareEnvironment(), signal, onOutput } = options;
  const child = spawn(programs === '' ? program : path.join(programs, program), args, {
    env,
    stdio: ['ignore', onOutput ? 'pipe' : 'ignore', 'pipe'],
    ...(signal ? { signal } : {}),
  });
  if (onOutput) child.stdout?.on('data', onOutput);
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(0, SAID_CHARS_MAX)));
  const ended = await waitForEnd(child, program, programs);
  if (ended === 0) return;
  const words = said.trim().replaceAll(/\s*\n\s*/g, '; ');
  throw new PgProgramFault(words === '' ? `${program} ended with ${ended}` : words);
}

function waitForEnd(child: ChildProcess, program: PgProgram, programs: string): Promise<number | string> {
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const fault = notStarted(error, program, programs);
      // An aborted program was sent a signal, but has not ended yet.
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

export interface DumpReader {
  /** Called once for each table: returns the columns to read from every row, or none to only count its rows. */
  listColumns(table: string): readonly string[];
  /** Called for each row with the requested columns that exist; nulls are omitted. */
  onRow(table: string, row: Readonly<Record<string, string>>): void;
}

export interface DumpToRead {
  file: string;
  programs: string;
  /** The schema that contains our tables. */
  namespace: string;
  signal?: AbortSignal | undefined;
}

interface Block {
  table: string;
  /** Other schemas belong to other programs or to extensions. */
  isOurs: boolean;
  rows: number;
  /** Positions of the wanted columns in a line. */
  wanted: { name: string; at: number }[];
}

const NEWLINE = 10;
const END = Buffer.from('\\.');

/**
 * Reads a whole dump with pg_restore, and returns the number of rows of each table of this schema only. It contacts no
 * server.
 */
export async function readDump(
  { file, programs, namespace, signal }: DumpToRead,
  reader: DumpReader,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let block: Block | undefined;
  const onLine = (line: Buffer): void => {
    if (block === undefined) {
      block = blockBegunBy(line, namespace, reader);
      return;
    }
    if (line.equals(END)) {
      if (block.isOurs) counts[block.table] = (counts[block.table] ?? 0) + block.rows;
      block = undefined;
      return;
    }
    block.rows++;
    if (block.wanted.length > 0) reader.onRow(block.table, parseFields(line, block));
  };
  const lines = createLines(onLine);
  await runProgram('pg_restore', ['--data-only', '--file=-', file], { programs, signal, onOutput: lines });
  return counts;
}

/** `COPY public.emails (id, "to") FROM stdin;` */
function blockBegunBy(line: Buffer, namespace: string, reader: DumpReader): Block | undefined {
  if (!line.subarray(0, 5).equals(COPY)) return undefined;
  const [, schema = '', table = '', list = ''] =
    /^COPY (\S+?)\.(\S+) \((.*)\) FROM stdin;$/.exec(line.toString()) ?? [];
  if (table === '') return undefined;
  const isOurs = bare(schema) === namespace;
  const columns = list.split(', ').map(bare);
  const names = isOurs ? reader.listColumns(bare(table)) : [];
  const wanted = names.flatMap((name) => {
    const at = columns.indexOf(name);
    return at === -1 ? [] : [{ name, at }];
  });
  return { table: bare(table), isOurs, rows: 0, wanted };
}

const COPY = Buffer.from('COPY ');

const bare = (name: string): string => name.replaceAll('"', '');

function parseFields(line: Buffer, { wanted }: Block): Record<string, string> {
  const fields = line.toString().split('\t');
  return Object.fromEntries(
    wanted.flatMap(({ name, at }) => {
      const text = fields[at];
      return text === undefined || text === '\\N' ? [] : [[name, unescaped(text)]];
    }),
  );
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (_, letter: string) => ESCAPES[letter] ?? letter);

/** Splits into lines as PostgreSQL does: only a newline ends one. */
function createLines(onLine: (line: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer[] = [];
  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      const end = chunk.subarray(from, at);
      onLine(rest.length === 0 ? end : Buffer.concat([...rest, end]));
      rest = [];
      from = at + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  };
}
