import { spawn, type ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, vi } from 'vitest';
import { makeDatabase, makeProgramsDatabase, type TestDatabase } from '../rig/database.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { isHostFree, runHosted } from './command-host.ts';
import { canBeHosted, canRunInProcess, runInProcess, type Ended } from './in-process.ts';
import { runLine, type Shell } from './shell-line.ts';

export type { Ended } from './in-process.ts';

export const root = path.resolve(import.meta.dirname, '../..');

export interface Running {
  pid: number;
  /** The output that it has written so far. */
  readonly stdout: string;
  readonly stderr: string;
  write(text: string): void;
  kill(signal: NodeJS.Signals): void;
  ended: Promise<Ended>;
}

export interface Surroundings {
  /** An undefined value takes the variable away. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** The content of standard input; without it there is none. */
  input?: string | undefined;
  /** Keeps standard input open, for `write`. */
  isOpen?: boolean;
  /** The time after which it counts as hanging, and is killed. */
  patienceMs?: number;
}

/** Nothing here takes two minutes; what does, hangs. A server is there for as long as it is asked. */
const PATIENCE_MS = 120_000;
const SERVER_PATIENCE_MS = 900_000;

/**
 * Somebody at a machine of their own: a home, a folder to work in, `rasket` in the PATH, and a database where it is not
 * a file. Servers, and whatever `start` starts, are real processes and are stopped with them; commands run in this one
 * where that makes no difference.
 */
export class Desk implements AsyncDisposable {
  readonly folder = fs.realpathSync(scratchFolder('rasket-cli-'));
  #children: ChildProcess[] = [];
  #databases: TestDatabase[] = [];
  #cache = path.join(os.tmpdir(), `rasket-cli-cache-${process.getuid?.() ?? 0}`);

  constructor() {
    fs.mkdirSync(this.at('path'));
    this.write('installed/instance.key', '');
    fs.symlinkSync(path.join(root, 'bin/rasket'), this.at('path/rasket'));
  }

  at(...names: string[]): string {
    return path.join(this.folder, ...names);
  }

  write(name: string, content: string | Uint8Array): string {
    fs.mkdirSync(path.dirname(this.at(name)), { recursive: true });
    fs.writeFileSync(this.at(name), content);
    return this.at(name);
  }

  /**
   * The settings that give a data folder a database of its own; none for SQLite, whose file is in the folder. On PostgreSQL
   * it has its tables already, unless it is to be `empty`.
   */
  async database(kind: 'empty' | 'migrated' = 'migrated'): Promise<Record<string, string>> {
    const made = await (kind === 'empty' ? makeDatabase() : makeProgramsDatabase());
    this.#databases.push(made);
    const { driver, url } = made.settings;
    return { RASKET_DATABASE_DRIVER: driver, ...(url === '' ? {} : { RASKET_DATABASE_URL: url }) };
  }

  start(
    command: string,
    args: string[],
    { env = {}, cwd = this.folder, input, isOpen = false, patienceMs = PATIENCE_MS }: Surroundings = {},
  ): Running {
    const child = spawn(command, args, {
      cwd,
      env: { ...this.surroundings(), ...env },
      stdio: [input === undefined && !isOpen ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    this.#children.push(child);
    const running = {
      pid: child.pid ?? 0,
      stdout: '',
      stderr: '',
      write: (text: string) => void child.stdin?.write(text),
      kill: (signal: NodeJS.Signals) => void child.kill(signal),
    };
    // A character may come in two pieces.
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (running.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (running.stderr += text));
    child.stdin?.on('error', () => undefined);
    if (input !== undefined) child.stdin?.end(input);
    const late = setTimeout(() => child.kill('SIGKILL'), patienceMs);
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        clearTimeout(late);
        resolve({ stdout: running.stdout, stderr: running.stderr, code });
      });
    });
    return Object.assign(running, { ended });
  }

  /** A command where it costs least: here, in the host, or as a process of its own. A server that starts is for `serve`. */
  rasket(args: string[], surroundings: Surroundings = {}): Promise<Ended> {
    const { cwd = this.folder, input, patienceMs = PATIENCE_MS } = surroundings;
    const env = { ...this.surroundings(), ...surroundings.env };
    if (canRunInProcess(args)) return runInProcess(args, { env, cwd, input }).then(({ shown: _, ...ended }) => ended);
    if (canBeHosted(args) && input === undefined && isHostFree({ env }))
      return runHosted({ words: args, env, cwd }, patienceMs);
    return this.run(args, surroundings);
  }

  /** `rasket` as a process of its own. */
  run(args: string[], surroundings: Surroundings = {}): Promise<Ended> {
    return this.start(this.at('path/rasket'), args, surroundings).ended;
  }

  /** A line as it would be typed. */
  type(line: string, surroundings: Surroundings = {}): Promise<Ended> {
    const { env = {}, cwd = this.folder, input } = surroundings;
    const byShell: Shell['byShell'] = (part, around) => this.sh(part, { ...surroundings, ...around });
    return runLine(line, { env: { ...this.surroundings(), ...env }, cwd, input, byShell });
  }

  /** The same, with every command a process of its own. */
  sh(line: string, surroundings: Surroundings = {}): Promise<Ended> {
    return this.start('/bin/sh', ['-c', line], surroundings).ended;
  }

  /** Starts `serve` or `dev` and waits until it says that it is ready. */
  async serve(args: string[], surroundings: Surroundings = {}): Promise<Server> {
    const env = { RASKET_HTTP_PORT: '0', ...GENEROUS, ...closedUnlessTriedOut(args), ...surroundings.env };
    const running = this.start(this.at('path/rasket'), args, { ...surroundings, env, patienceMs: SERVER_PATIENCE_MS });
    return this.whenReady(running, this.at(args[args.indexOf('--data') + 1] ?? '', 'run/ready.json'));
  }

  async whenReady(running: Running, file: string): Promise<Server> {
    const isOver = running.ended.then((ended) => {
      throw new Error(`the server ended with ${ended.code}:\n${ended.stdout}${ended.stderr}`);
    });
    isOver.catch(() => undefined);
    const isReady = vi.waitFor(() => expect(readReadyFile(file, running.pid)).toBeDefined(), { timeout: 120_000 });
    await Promise.race([isReady, isOver]);
    const ready = readReadyFile(file, running.pid) as Ready;
    const stop = async (): Promise<Ended> => {
      running.kill('SIGTERM');
      return running.ended;
    };
    return Object.assign(running, { ready, url: ready.listeners.http?.url ?? '', readyFile: file, stop });
  }

  surroundings(): Record<string, string> {
    return {
      PATH: `${this.at('path')}:${process.env.PATH ?? ''}`,
      HOME: this.folder,
      XDG_CONFIG_HOME: this.at('config'),
      // Compiled code outlives one desk; without it every command costs twice the time.
      XDG_CACHE_HOME: this.#cache,
      // This is a machine with an installation, whose folder says nothing about where the API is.
      RASKET_DATA: this.at('installed'),
      RASKET_INSTANCE_HOST: 'mail.rasket.test',
      // A test that wants other machines to be asked sets this itself.
      RASKET_DOCTOR_CHECKS: '',
      LC_ALL: 'C.UTF-8',
      TERM: 'xterm',
      ...clockOfThisRun(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clear();
  }

  /** Ends all programs that are still running. */
  async endAll(): Promise<void> {
    await Promise.all(this.#children.map(waitForEnd));
  }

  async clear(): Promise<void> {
    // A process writes into the folder until it is gone.
    await this.endAll();
    await Promise.all(this.#databases.map((database) => database.drop()));
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function waitForEnd(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((done) => child.once('exit', done));
  child.kill('SIGKILL');
  await gone;
}

/** Returns the variables that `faketime` gives to a run of the tests, so that the programs it starts live in the same time. */
export function clockOfThisRun(): Record<string, string> {
  const given = Object.entries(process.env).filter(([name]) => name === 'LD_PRELOAD' || name.startsWith('FAKETIME'));
  return Object.fromEntries(given) as Record<string, string>;
}

export interface Ready {
  pid: number;
  version: string;
  roles: string[];
  listeners: {
    http?: { host: string; port: number; url: string };
    smtp?: { host: string; port: number; tls: string; doors: string[] }[];
  };
}

/** Commands in this process come faster than a person types: only tests about limits meet them. */
const GENEROUS = { RASKET_RATE_LIMIT_REQUESTS_PER_SECOND: '1000', RASKET_RATE_LIMIT_BURST: '1000' };

/** Servers of tests that run at the same time would want the same SMTP ports; `dev` takes free ones by itself. */
const closedUnlessTriedOut = ([command]: string[]): Record<string, string> =>
  command === 'dev' ? {} : { RASKET_SUBMISSION_PORTS: '', RASKET_SUBMISSION_TLS_PORTS: '', RASKET_RECEIVING_PORTS: '' };

export type Server = Running & { ready: Ready; url: string; readyFile: string; stop(): Promise<Ended> };

function readReadyFile(file: string, pid: number): Ready | undefined {
  try {
    const ready = JSON.parse(fs.readFileSync(file, 'utf8')) as Ready;
    return ready.pid === pid ? ready : undefined;
  } catch {
    return undefined;
  }
}

/** One line that says what is wrong, and no trace of where in our code it was noticed. */
export function expectOneLine(ended: Ended, line: RegExp, code?: number): void {
  expect(ended, ended.stderr).toMatchObject({ stdout: '' });
  if (code === undefined) expect([1, 65, 66, 69, 70, 75, 77], ended.stderr).toContain(ended.code);
  else expect(ended.code, ended.stderr).toBe(code);
  expect(ended.stderr).toMatch(/^rasket: [^\n]+\n$/);
  expect(ended.stderr).toMatch(line);
  expect(ended.stderr).not.toMatch(/^\s+at |node:internal|\.ts:\d/m);
}
