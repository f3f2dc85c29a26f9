import { existsSync } from 'node:fs';
import path from 'node:path';
import type { App, Role } from '../../src/app.ts';
import { systemClock, stopwatch } from '../../src/platform/clock.ts';
import { measureLoopDelay } from '../../src/platform/loop-delay.ts';
import { collectWhenIdle } from '../../src/platform/idle-memory.ts';
import { createLog, type Log } from '../../src/platform/log/index.ts';
import { openServiceManager } from '../../src/platform/systemd.ts';
import { OperatorFault, explain } from '../explain.ts';
import { becomeFolderOwner } from '../installation.ts';
import { outliveReaders } from '../output.ts';
import { countProcesses, DRAIN_MS, joinGroup, startGroup, type Membership } from './process-group.ts';
import { dataFolder, DEVELOPMENT_MARK, mustBeInitialised, readConfig, type DataOptions } from './open.ts';
import { forgetDeadReady, forgetOwnReady, writeReady } from './ready-file.ts';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../src/platform/config/index.ts';
import { isDatabaseGone, openDb, ping } from '../../src/platform/db/index.ts';

const TRY_MS = 1000;
/** The interval between two lines of the log about the wait. */
const SAY_MS = 30_000;

/**
 * A database server may start later than this machine. Other faults, such as a wrong password, are reported at once.
 */
async function waitForDatabase({ database }: Config, log: Log): Promise<void> {
  const waitMs = database.wait_seconds * 1000;
  if (database.driver !== 'pg' || waitMs === 0) return;
  const elapsedMs = stopwatch();
  let sayAtMs = 0;
  for (;;) {
    try {
      await askOnce(database.url);
      return;
    } catch (error) {
      if (!isDatabaseGone(error) || elapsedMs() + TRY_MS > waitMs) throw error;
      if (elapsedMs() >= sayAtMs) {
        sayAtMs = elapsedMs() + SAY_MS;
        log.warn({ reason: explain(error)[0], waitSeconds: database.wait_seconds }, 'waiting for PostgreSQL');
      }
      await pause(TRY_MS);
    }
  }
}

async function askOnce(url: string): Promise<void> {
  const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
  try {
    await ping(db);
  } finally {
    await db.close();
  }
}

export interface ServeOptions extends DataOptions {
  roles?: Role[];
  /** The number of processes in place of the setting `node.processes`; 0 for one for each core. */
  processes?: number;
  /** False to make no backup before an upgrade. */
  backup?: boolean;
  version: string;
}

export async function serve(options: ServeOptions): Promise<void> {
  const membership = joinGroup();
  try {
    await serveProcess(options, membership);
  } finally {
    membership?.leave();
  }
}

async function serveProcess(options: ServeOptions, membership: Membership | undefined): Promise<void> {
  const dataDir = dataFolder(options);
  mustBeReal(dataDir);
  const config = readConfig(options, { isServing: true });
  becomeFolderOwner(dataDir);
  const log = createLog({
    ...config.log,
    isForJournal: process.env.JOURNAL_STREAM !== undefined,
    process: membership?.number,
  });
  const count = countProcesses(options.processes ?? config.node.processes, config);
  if (!membership) forgetDeadReady(dataDir);
  if (!membership && count > 1) return superviseProcesses({ count, config, dataDir, log, version: options.version });
  // Loaded only now, because a supervisor runs nothing of the server.
  const { ROLES, startApp } = await import('../../src/app.ts');
  const roles = options.roles ?? ROLES;
  await waitForDatabase(config, log);
  const upgrade = { noBackup: options.backup === false };
  // A unit can name several folders; the first one is used.
  const runtimeDir = process.env['RUNTIME_DIRECTORY']?.split(':')[0];
  const loopDelay = measureLoopDelay();
  const app = await startApp({
    config,
    dataDir,
    roles,
    version: options.version,
    log,
    upgrade,
    runtimeDir,
    loopDelay,
    readMetrics: membership?.readMetrics,
  });
  const stop = listenForStop(log, { isMember: membership !== undefined });
  listenForReload(app);
  const graceMs = config.http.shutdown_seconds * 1000;
  if (membership) return serveAsMember(membership, { app, stop, graceMs, roles, version: options.version });
  announce(app, dataDir, roles, options.version);
  const manager = openServiceManager(process.env, { clock: systemClock, log });
  manager.ready();
  void stop.asked.then(() => manager.stopping(graceMs + 2 * AFTER_GRACE_MS));
  await untilStopped(stop, app, dataDir, graceMs).finally(() => manager.close());
}

interface MemberParts {
  app: App;
  stop: Stop;
  graceMs: number;
  roles: readonly Role[];
  version: string;
}

/** Serves as one of several processes, until a signal, or until another process has taken its place. */
async function serveAsMember(membership: Membership, parts: MemberParts): Promise<void> {
  const { app, stop, graceMs, roles, version } = parts;
  const listeners = listListeners(app);
  const { JOINING_MS } = await import('../../src/mail/throttles/index.ts');
  const joiningMs = roles.includes('delivery') ? JOINING_MS : 0;
  app.world.log.info({ pid: process.pid, version, roles, listeners }, 'process is ready');
  membership.ready({ roles, listeners, joiningMs }, app.world.meter.text);
  const asked = Promise.race([
    stop.asked,
    membership.ending.then(async (reason): Promise<string> => {
      if (reason === 'replaced') {
        app.world.log.info(
          { drainMs: DRAIN_MS },
          'another process takes over; open connections end with their next response',
        );
        await app.http?.drain(DRAIN_MS);
      }
      return reason;
    }),
  ]);
  await untilStopped({ asked }, app, undefined, graceMs);
}

interface SupervisorParts {
  count: number;
  config: Config;
  dataDir: string;
  log: Log;
  version: string;
}

/** Runs several processes that share the ports, until a signal ends all of them. */
async function superviseProcesses({ count, config, dataDir, log, version }: SupervisorParts): Promise<void> {
  const graceMs = config.http.shutdown_seconds * 1000;
  const stopMs = graceMs + 2 * AFTER_GRACE_MS;
  const group = startGroup({
    count,
    log,
    graceMs,
    onChange: (state) => writeReady(dataDir, { pid: process.pid, version, ...state }),
  });
  const manager = openServiceManager(process.env, { clock: systemClock, log });
  const onSignal = (signal: NodeJS.Signals): void => {
    log.info({ signal, graceMs }, 'stopping');
    manager.stopping(stopMs);
    forgetOwnReady(dataDir);
    group.stop();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  process.on('SIGHUP', () => group.signal('SIGHUP'));
  process.on('SIGUSR2', () => group.restart());
  if (await group.started) {
    outliveReaders();
    const { roles, listeners, processes } = group.state();
    log.info({ pid: process.pid, version, roles, listeners, processes, data: dataDir }, 'ready');
    manager.ready();
  }
  process.exitCode = await group.ended;
  forgetOwnReady(dataDir);
  manager.close();
  log.info('stopped');
}

function mustBeReal(dataDir: string): void {
  mustBeInitialised(dataDir);
  if (existsSync(path.join(dataDir, DEVELOPMENT_MARK))) {
    throw new OperatorFault(
      `${dataDir} belongs to a development server, whose domain nobody owns; run it with: rasket dev --data ${dataDir}`,
    );
  }
}

/** Announces once, to programs and to people, that everything listens. Scripts wait for the file to appear. */
export function announce(app: App, dataDir: string, roles: readonly Role[], version: string): void {
  const ready = { pid: process.pid, version, roles, listeners: listListeners(app) };
  outliveReaders();
  writeReady(dataDir, ready);
  app.world.log.info({ ...ready, data: dataDir }, 'ready');
}

function listListeners({ http, smtp }: App): object {
  return {
    ...(http && { http: { host: http.host, port: http.port, url: http.url } }),
    ...(smtp && { smtp: smtp.listening }),
  };
}

export interface Stop {
  /** Resolves to the signal that asked for the stop, or to another reason. */
  asked: Promise<string>;
}

/**
 * The time within which npm, on a busy machine, passes on a Ctrl-C that the terminal has sent to us as well. It does so
 * once.
 */
const ECHO_MS = 10_000;

/**
 * Listens for signals: the first one lets work in progress end, a second one stops at once. Set up before the server is
 * reported as ready.
 */
export function listenForStop(log: Log, { isMember = false } = {}): Stop {
  const first = Promise.withResolvers<NodeJS.Signals>();
  const isUnderNpm = process.env.npm_lifecycle_event !== undefined;
  let firstAt: number | undefined;
  let isEchoHeard = !isUnderNpm;
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      return first.resolve(signal);
    }
    if (!isEchoHeard && signal === 'SIGINT' && now - firstAt < ECHO_MS) {
      isEchoHeard = true;
      return;
    }
    log.warn({ signal }, 'stopped immediately');
    process.exit(1);
  };
  // A Ctrl-C in a terminal reaches every process; the supervisor stops its members.
  if (isMember) process.on('SIGINT', () => undefined).on('SIGTERM', onSignal);
  else process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  return { asked: first.promise };
}

/** SIGHUP, as other servers have it: after a certificate was renewed, for instance. */
export function listenForReload(app: App): void {
  process.on('SIGHUP', () => {
    app.world.log.info('reading certificates again');
    app.reload();
  });
}

/** The time to release the database and the data folder after everything has ended. */
const AFTER_GRACE_MS = 5000;

/** Waits for a signal and stops the app. The process ends soon after the grace period, whatever happens. */
export async function untilStopped(stop: Stop, app: App, dataDir: string | undefined, graceMs: number): Promise<void> {
  const { log } = app.world;
  // Listeners keep the process running, but a process with only the delivery role has none.
  const keepUp = setInterval(() => undefined, 2 ** 30);
  const endCollecting = collectWhenIdle(systemClock);
  const asked = await Promise.race([stop.asked.then((signal) => ({ signal })), app.gone.then((gone) => ({ gone }))]);
  endCollecting();
  log.info({ ...('gone' in asked ? { gone: asked.gone.message } : asked), graceMs }, 'stopping');
  if (dataDir !== undefined) forgetOwnReady(dataDir);
  // A database that does not respond must not block the stop: unfinished work is continued after the next start.
  const cut = setTimeout(() => {
    log.error({ graceMs }, 'running work did not finish in time: stopped immediately');
    process.exit(1);
  }, graceMs + AFTER_GRACE_MS).unref();
  try {
    await app.close(graceMs);
    clearTimeout(cut);
  } catch (error) {
    // The database is gone, so unfinished work cannot be recorded there any more.
    if (!('gone' in asked)) throw error;
    log.warn({ err: error }, 'could not stop everything');
  } finally {
    clearInterval(keepUp);
  }
  log.info('stopped');
  if ('gone' in asked) throw asked.gone;
}
