import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { pause, type Bench } from '../bench.ts';
import { stopChild, watch } from '../children.ts';

/** One mail server of a row, as it runs alongside the others. */
export interface Peer {
  name: string;
  /** Its first processes; all their descendants are its own as well. */
  roots: number[];
  /** Sends that many messages; resolves when the last of them was answered. */
  load(amount: number, letter: Letter): Promise<void>;
}

/** A message as smtp-source sends it, and the same as a body for POST /emails. */
export interface Letter {
  name: string;
  file: string;
  bodies: string[];
}

export interface PeerKind {
  name: string;
  /** Why it cannot run here, with a hint. */
  missing(): string | undefined;
  /** Everything it accepts is relayed to this port of loopback, or kept if there is none. */
  start(bench: Bench, sinkPort: number): Promise<Peer>;
}

/** Debian packages by the programs that a peer needs. */
const PACKAGES: Record<string, string> = {
  '/usr/sbin/postfix': 'postfix',
  '/usr/sbin/smtp-source': 'postfix',
  '/usr/sbin/smtp-sink': 'postfix',
  '/usr/sbin/opendkim': 'opendkim',
  '/usr/bin/rspamd': 'rspamd',
};

export function missingPrograms(programs: string[]): string | undefined {
  const absent = programs.filter((program) => !existsSync(program));
  if (absent.length === 0) return process.getuid?.() === 0 ? undefined : 'it starts as root only';
  const packages = [...new Set(absent.map((program) => PACKAGES[program] ?? program))].join(' ');
  return `not installed: apt-get install ${packages} (with a policy-rc.d that starts no service)`;
}

/** Starts a daemon in the foreground, whose group ends with the row; its output goes to a file of its folder. */
export function startDaemon(bench: Bench, dir: string, [program = '', ...args]: string[]): ChildProcess {
  const log = openSync(path.join(dir, 'start.log'), 'a');
  const daemon = spawn(program, args, { stdio: ['ignore', log, log], detached: true, cwd: dir });
  closeSync(log);
  watch(daemon, { isGroup: true });
  bench.stopLater(() => stopChild(daemon, 'SIGKILL'));
  return daemon;
}

// rspamd takes a quarter of a minute to read its rules.
const START_MS_MAX = 60_000;

/** Waits until the daemon accepts connections, or reports its output. */
export async function untilAccepting(name: string, daemon: ChildProcess, dir: string, port: number): Promise<void> {
  const end = performance.now() + START_MS_MAX;
  while (performance.now() < end && daemon.exitCode === null) {
    if (await accepts(port)) return;
    await pause(50);
  }
  const printed = readFileSync(path.join(dir, 'start.log'), 'utf8').trimEnd().split('\n').slice(-5).join(' | ');
  throw new Error(`${name} did not start: ${printed}`);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

export interface Source {
  /** The peer whose port it is. */
  into: string;
  port: number;
  amount: number;
  letter: Letter;
  to: string;
  sessions?: number;
}

const SOURCE_MS_MAX = 90_000;

/** Sends over sessions that stay open, each recipient with a number of its own. */
export async function runSource({ into, port, amount, letter, to, sessions = 20 }: Source): Promise<void> {
  const envelope = ['-f', 'hello@news.sender.test', '-t', to, '-N', '-F', letter.file];
  const args = ['-d', '-s', String(Math.min(sessions, amount)), '-m', String(amount), ...envelope, `127.0.0.1:${port}`];
  const source = spawn('/usr/sbin/smtp-source', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  watch(source);
  const timer = setTimeout(() => source.kill('SIGKILL'), SOURCE_MS_MAX);
  const code = await new Promise((done) => source.once('exit', done));
  clearTimeout(timer);
  if (code !== 0) throw new Error(`smtp-source into ${into} ended with ${code === null ? 'the time' : String(code)}`);
}

/** Returns the bytes in memory of a peer's processes, with shared pages counted once. */
export function readMemory({ roots }: Peer): number {
  const children = new Map<number, number[]>();
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    const parent = Number(readFields(pid)[1]);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const own = [...roots];
  // The list grows while it is read, by the children of each process.
  for (const pid of own) own.push(...(children.get(pid) ?? []));
  return own.reduce((sum, pid) => sum + proportionalBytes(pid), 0);
}

function readFields(pid: number): string[] {
  return readIfPresent(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];
}

const proportionalBytes = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB/m.exec(readIfPresent(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;

/** Returns an empty text for a process that ended meanwhile. */
function readIfPresent(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
