/**
 * Runs several processes of the server on one machine. The supervisor opens the ports and hands each connection to the
 * next process, starts a process again that ends, and restarts all of them one after the other on request. It loads
 * nothing of the server itself.
 */
import cluster, { type Worker } from 'node:cluster';
import { availableParallelism } from 'node:os';
import { systemClock } from '../../src/platform/clock.ts';
import type { Config } from '../../src/platform/config/index.ts';
import type { Log } from '../../src/platform/log/index.ts';
import type { ProcessMetrics } from '../../src/platform/meter/index.ts';
import { isSingleFile } from '../../src/program-files/index.ts';
import { EXIT } from '../../cli/output/command-process.ts';
import { OperatorFault } from '../explain.ts';

/** Interval at which each process reports that its event loop runs. */
const ALIVE_MS = 10_000;
/** A process that is silent for this long hangs; systemd allows the supervisor the same time. */
const SILENT_MS_MAX = 120_000;
/** Connections of a process that is replaced, on which no request arrives for this long, are closed. */
export const DRAIN_MS = 5000;
/** A process that has run for this long before it ends is started again at once. */
const STEADY_MS = 10_000;
const RESTART_MS = { min: 1000, max: 30_000 };
/** Number of failed starts in a row after which the server ends, if no process runs. */
const FAILED_STARTS_MAX = 5;
/** A process that does not report its metrics within this time is left out. */
const METRICS_MS_MAX = 3000;

/** Reports of a process that has started. */
export interface Opened {
  roles: readonly string[];
  listeners: object;
  /** Time for which it delivers nothing, because it takes over its part of the limits of mailbox providers. */
  joiningMs: number;
}

/** Messages from a process to its supervisor. */
type Report =
  | { kind: 'alive' }
  | { kind: 'ready'; opened: Opened }
  | { kind: 'ask-metrics'; question: number }
  | { kind: 'metrics'; question: number; text: string };

/** Messages from the supervisor to a process. */
type Order =
  | { kind: 'retire' }
  | { kind: 'read-metrics'; question: number }
  | { kind: 'all-metrics'; question: number; all: ProcessMetrics[] };

/** Returns how many processes are to run; throws if the database permits only one. */
export function countProcesses(wanted: number, { database }: Config): number {
  const count = wanted === 0 ? availableParallelism() : wanted;
  if (database.driver === 'pg' || wanted === 1) return count;
  throw new OperatorFault(
    `${wanted === 0 ? 'a process for each core needs' : `${wanted} processes need`} PostgreSQL: an SQLite file is written by one process. Set node.processes = 1, or move the database: rasket move --help`,
    'usage',
  );
}

/** Waits without keeping the supervisor running. */
const pause = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.timer(ms, resolve));

/** The link of a process to its supervisor. */
export interface Membership {
  /** The number of this process, from 1. */
  number: number;
  /** Resolves when another process has taken the place of this one, or the supervisor has ended. */
  ending: Promise<'replaced' | 'supervisor ended'>;
  /** Returns the metrics of all processes. */
  readMetrics(): Promise<string>;
  /** Reports that all ports are open, and provides the metrics of this process from then on. */
  ready(opened: Opened, readOwnMetrics: () => Promise<string>): void;
  /** Ends the link, after which nothing keeps the process running. */
  leave(): void;
}

/** Returns the membership of a process that a supervisor has started; undefined in any other process. */
export function joinGroup(): Membership | undefined {
  const { worker } = cluster;
  if (!worker) return undefined;
  const number = Number(process.env['RASKET_PROCESS_NUMBER']);
  // It is no setting, and programs that this process starts are no members.
  delete process.env['RASKET_PROCESS_NUMBER'];
  const ending = Promise.withResolvers<'replaced' | 'supervisor ended'>();
  const questions = new Map<number, (all: ProcessMetrics[]) => void>();
  let readOwn = async (): Promise<string> => '';
  let lastQuestion = 0;
  const report = (message: Report): void => {
    if (process.connected) process.send?.(message, undefined, {}, () => undefined);
  };
  const alive = setInterval(() => report({ kind: 'alive' }), ALIVE_MS).unref();
  process.on('message', (order: Order) => {
    if (order.kind === 'retire') return ending.resolve('replaced');
    if (order.kind === 'all-metrics') return questions.get(order.question)?.(order.all);
    readOwn().then(
      (text) => report({ kind: 'metrics', question: order.question, text }),
      () => undefined,
    );
  });
  worker.once('disconnect', () => {
    // Otherwise Node.js would exit at once, in the middle of deliveries.
    worker.exitedAfterDisconnect = true;
    ending.resolve('supervisor ended');
  });
  return {
    number,
    ending: ending.promise,
    async readMetrics() {
      const question = ++lastQuestion;
      const all = Promise.withResolvers<ProcessMetrics[]>();
      questions.set(question, all.resolve);
      const cancel = systemClock.timer(2 * METRICS_MS_MAX, () => all.resolve([]));
      report({ kind: 'ask-metrics', question });
      const found = await all.promise;
      cancel();
      questions.delete(question);
      // The supervisor needs none of it.
      const { mergeMetrics } = await import('../../src/platform/meter/index.ts');
      return mergeMetrics(found.length > 0 ? found : [{ process: number, text: await readOwn() }]);
    },
    ready(opened, readOwnMetrics) {
      readOwn = readOwnMetrics;
      report({ kind: 'ready', opened });
    },
    leave() {
      clearInterval(alive);
      worker.exitedAfterDisconnect = true;
      process.channel?.unref();
    },
  };
}

/** A connection, as Node.js passes it between processes. */
interface Connection {
  close(): void;
}

/** The messages of Node.js between the processes of a cluster that concern connections. */
interface ClusterMessage {
  act?: string;
  seq?: number;
  ack?: number;
}

/**
 * Remembers the connections that are being handed to a process. Returns a function that closes those it has not
 * confirmed: Node.js forgets them when the process ends, and their clients would wait until their own time limit.
 */
function trackConnections({ process: child }: Worker): () => void {
  const unconfirmed = new Map<number, Connection>();
  const send = child.send.bind(child) as (message: object, ...more: unknown[]) => boolean;
  child.send = (message: object, ...more: unknown[]): boolean => {
    const { act, seq } = message as ClusterMessage;
    if (act === 'newconn' && seq !== undefined && more[0]) unconfirmed.set(seq, more[0] as Connection);
    return send(message, ...more);
  };
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) unconfirmed.delete(ack);
  });
  return () => unconfirmed.forEach((connection) => connection.close());
}

/** One process, as its supervisor sees it. */
interface Member {
  number: number;
  worker: Worker;
  startedAt: number;
  heardAt: number;
  /** Undefined until the process is ready. */
  opened: Opened | undefined;
  ended: Promise<void>;
  hasEnded: boolean;
  /** Another process is about to take its place. */
  isBeingReplaced: boolean;
}

/** The processes that run now, and the last restart of all of them. */
export interface GroupState extends Omit<Opened, 'joiningMs'> {
  processes: { number: number; pid: number }[];
  /** Number of restarts of all processes. */
  restarts: number;
  /** Reason why the last restart was broken off. */
  restart_failed?: string;
}

export interface GroupOptions {
  count: number;
  log: Log;
  /** Time that a process has to finish its work when it stops. */
  graceMs: number;
  /** Called when all processes are ready for the first time, and after each change. */
  onChange(state: GroupState): void;
}

export interface Group {
  /** Resolves when every process is ready for the first time, with false if one could not start. */
  started: Promise<boolean>;
  /** Resolves with the exit code when every process has ended. */
  ended: Promise<number>;
  /** Returns the processes that run now. */
  state(): GroupState;
  /** Restarts the processes one after the other; each continues to work until the new one is ready. */
  restart(): void;
  /** Sends a signal to every process. */
  signal(signal: NodeJS.Signals): void;
  /** Lets every process finish its work; a second call ends them at once. */
  stop(): void;
}

export function startGroup(options: GroupOptions): Group {
  return new ProcessGroup(options);
}

class ProcessGroup implements Group {
  readonly started: Promise<boolean>;
  readonly ended: Promise<number>;
  readonly #options: GroupOptions;
  readonly #members = new Map<number, Member>();
  /** Includes processes that are being replaced. */
  readonly #running = new Set<Member>();
  readonly #end = Promise.withResolvers<number>();
  readonly #questions = new Map<number, (member: Member, text: string) => void>();
  #lastQuestion = 0;
  #restarts = 0;
  #restartFailure: string | undefined;
  #failedStarts = 0;
  #isStarted = false;
  #isStopping = false;
  #isRestarting = false;
  #exitCode = 0;
  #checkedAt = performance.now();

  constructor(options: GroupOptions) {
    this.#options = options;
    this.ended = this.#end.promise;
    if (isSingleFile) {
      const [exec = '', ...args] = process.argv.slice(2);
      // The executable applies the options of Node.js by itself.
      cluster.setupPrimary({ exec, args, execArgv: [] });
    }
    this.started = this.#startAll();
    const watching = setInterval(() => this.#endSilent(), ALIVE_MS);
    void this.ended.then(() => clearInterval(watching));
  }

  /** The first process upgrades the database before the others start. */
  async #startAll(): Promise<boolean> {
    const numbers = Array.from({ length: this.#options.count }, (_, at) => at + 1);
    const isFirstReady = await this.#startMember(1);
    const isReady = isFirstReady && (await Promise.all(numbers.slice(1).map((number) => this.#startMember(number))));
    if (!isReady || !isReady.every(Boolean)) {
      if (!this.#isStopping) this.stop();
      return false;
    }
    this.#isStarted = true;
    this.#changed();
    return true;
  }

  /** Starts a process under a number; resolves when it is ready, with false if it has ended before. */
  #startMember(number: number): Promise<boolean> {
    const { log } = this.#options;
    // The service manager is notified by the supervisor alone.
    const env = { RASKET_PROCESS_NUMBER: String(number), NOTIFY_SOCKET: undefined };
    const worker = cluster.fork(env as unknown as NodeJS.ProcessEnv);
    const closeUnconfirmed = trackConnections(worker);
    const now = performance.now();
    const ended = Promise.withResolvers<void>();
    const ready = Promise.withResolvers<boolean>();
    const member: Member = {
      number,
      worker,
      startedAt: now,
      heardAt: now,
      opened: undefined,
      ended: ended.promise,
      hasEnded: false,
      isBeingReplaced: false,
    };
    this.#running.add(member);
    worker.on('error', (err) => log.error({ err, process: number }, 'a process cannot be reached'));
    worker.on('message', (report: Report) => {
      member.heardAt = performance.now();
      if (report.kind === 'ready') {
        member.opened = report.opened;
        this.#members.set(number, member);
        this.#failedStarts = 0;
        ready.resolve(true);
      } else if (report.kind === 'ask-metrics') this.#collectMetrics(member, report.question);
      else if (report.kind === 'metrics') this.#questions.get(report.question)?.(member, report.text);
    });
    worker.once('exit', (code, signal) => {
      member.hasEnded = true;
      this.#running.delete(member);
      closeUnconfirmed();
      ended.resolve();
      ready.resolve(false);
      this.#onExit(member, { code, signal });
    });
    return ready.promise;
  }

  #onExit(member: Member, { code, signal }: { code: number | null; signal: string | null }): void {
    const { log } = this.#options;
    // A process that is still starting ends by the signal of a stop.
    if (code !== 0 && signal !== 'SIGTERM') this.#exitCode = code ?? EXIT.failed;
    if (this.#isStopping && this.#running.size === 0) return this.#end.resolve(this.#exitCode);
    const isCurrent = this.#members.get(member.number) === member;
    if (this.#isStopping || !this.#isStarted || !isCurrent || member.isBeingReplaced) return;
    log.error(
      { process: member.number, pid: member.worker.process.pid, code, signal },
      'a process ended; starting it again',
    );
    const isSteady = performance.now() - member.startedAt >= STEADY_MS;
    void this.#startAgain(member.number, isSteady ? 0 : RESTART_MS.min);
  }

  async #startAgain(number: number, delayMs: number): Promise<void> {
    this.#members.delete(number);
    await pause(delayMs);
    if (this.#isStopping) return;
    if (await this.#startMember(number)) return this.#changed();
    if (this.#isStopping) return;
    this.#failedStarts++;
    if (this.#failedStarts >= FAILED_STARTS_MAX && this.#members.size === 0) return this.stop();
    void this.#startAgain(number, Math.min(RESTART_MS.max, Math.max(RESTART_MS.min, 2 * delayMs)));
  }

  restart(): void {
    const { log } = this.#options;
    if (!this.#isStarted || this.#isStopping) return;
    if (this.#isRestarting) return log.warn('the processes are being restarted already');
    this.#isRestarting = true;
    log.info({ processes: this.#members.size }, 'restarting the processes one after the other');
    void this.#restartAll().finally(() => (this.#isRestarting = false));
  }

  async #restartAll(): Promise<void> {
    const { log } = this.#options;
    this.#restartFailure = undefined;
    let joiningMs = 0;
    for (const before of [...this.#members.values()]) {
      const { number } = before;
      await pause(joiningMs);
      if (this.#isStopping) return;
      // One that has ended meanwhile starts with the present settings anyway.
      if (before.hasEnded) continue;
      before.isBeingReplaced = true;
      const isReady = await this.#startMember(number);
      if (this.#isStopping) return;
      if (!isReady) {
        before.isBeingReplaced = false;
        if (before.hasEnded) void this.#startAgain(number, RESTART_MS.min);
        this.#restartFailure = `process ${number} did not start with the present settings`;
        log.error({ process: number }, 'a new process did not start; the processes before it continue');
        break;
      }
      await this.#retire(before);
      joiningMs = this.#members.get(number)?.opened?.joiningMs ?? 0;
    }
    this.#restarts++;
    this.#changed();
    if (this.#restartFailure === undefined) log.info('all processes were restarted');
  }

  async #retire(member: Member): Promise<void> {
    if (member.hasEnded) return;
    this.#order(member, { kind: 'retire' });
    const cancel = systemClock.timer(DRAIN_MS + this.#options.graceMs + SILENT_MS_MAX, () =>
      member.worker.process.kill('SIGKILL'),
    );
    await member.ended;
    cancel();
  }

  signal(signal: NodeJS.Signals): void {
    for (const { worker } of this.#running) worker.process.kill(signal);
  }

  stop(): void {
    const signal = this.#isStopping ? 'SIGKILL' : 'SIGTERM';
    this.#isStopping = true;
    this.signal(signal);
    if (this.#running.size === 0) this.#end.resolve(this.#exitCode);
  }

  #endSilent(): void {
    const now = performance.now();
    // If the supervisor itself did not run for a while, nor did its processes.
    const wasAway = now - this.#checkedAt > 2 * ALIVE_MS;
    this.#checkedAt = now;
    for (const member of this.#running) {
      if (wasAway) member.heardAt = now;
      if (now - member.heardAt <= SILENT_MS_MAX) continue;
      this.#options.log.error(
        { process: member.number, pid: member.worker.process.pid },
        'a process hangs and is ended',
      );
      member.worker.process.kill('SIGKILL');
    }
  }

  #collectMetrics(asker: Member, question: number): void {
    const asked = new Set([...this.#members.values()].filter(({ hasEnded }) => !hasEnded));
    const own = ++this.#lastQuestion;
    const all: ProcessMetrics[] = [];
    const respond = (): void => {
      cancel();
      this.#questions.delete(own);
      all.sort((one, other) => one.process - other.process);
      this.#order(asker, { kind: 'all-metrics', question, all });
    };
    const cancel = systemClock.timer(METRICS_MS_MAX, respond);
    this.#questions.set(own, (member, text) => {
      if (!asked.delete(member)) return;
      all.push({ process: member.number, text });
      if (asked.size === 0) respond();
    });
    for (const member of asked) this.#order(member, { kind: 'read-metrics', question: own });
  }

  #order({ worker }: Member, order: Order): void {
    if (worker.isConnected()) worker.send(order, () => undefined);
  }

  #changed(): void {
    this.#options.onChange(this.state());
  }

  state(): GroupState {
    const members = [...this.#members.values()].toSorted((one, other) => one.number - other.number);
    return {
      processes: members.map(({ number, worker }) => ({ number, pid: worker.process.pid ?? 0 })),
      roles: members[0]?.opened?.roles ?? [],
      listeners: members[0]?.opened?.listeners ?? {},
      restarts: this.#restarts,
      ...(this.#restartFailure !== undefined && { restart_failed: this.#restartFailure }),
    };
  }
}
