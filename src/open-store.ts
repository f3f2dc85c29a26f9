/**
 * Opens and closes the Store: all that a command of the operator needs. Imports neither the server nor code that
 * contacts other machines, because loading those is most of what such a command would cost.
 */
import './connect-stores.ts';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { openBlobs, type Blobs } from './platform/blobs/index.ts';
import { systemClock, type Clock } from './platform/clock.ts';
import type { Config } from './platform/config/index.ts';
import {
  createGroupCommit,
  migrate,
  mustNotBeApplied,
  openDb,
  schemaState,
  TIMELINE_FILE,
  type ServerNotice,
} from './platform/db/index.ts';
import { createIds } from './platform/ids.ts';
import { createLog, createMailLog, type Log } from './platform/log/index.ts';
import { createTracer } from './platform/trace/index.ts';
import { createMeter, type Meter } from './platform/meter/index.ts';
import {
  closeInstanceKey,
  createPasswords,
  makeRsaKey,
  openSecrets,
  type PasswordCost,
  type SealedColumn,
} from './platform/secrets/index.ts';
import type { Store } from './platform/store.ts';
import { UNMEASURED, type LoopDelay } from './platform/loop-delay.ts';
import { createTextThread } from './platform/text-thread/index.ts';
import type { UpgradeWishes } from './features/installation/index.ts';
import {
  bindInstallation,
  keptByCopies,
  leaveWitness,
  mustBelongTogether,
  mustHaveBlobsHere,
  mustHaveDatabase,
  moveUnderWay,
  MoveUnderWay,
  mustNotBeMoved,
  mustTakeAnyText,
  noteUse,
  saysUnderWay,
} from './tenancy/instance/index.ts';

export interface StoreOptions {
  config: Config;
  dataDir: string;
  clock?: Clock;
  random?: () => number;
  makeRsaKey?: Store['makeRsaKey'];
  passwordCost?: PasswordCost;
  log?: Log;
  /** The delay of this process's event loop; not measured by default. */
  loopDelay?: LoopDelay;
  /** Allows a new installation to be created; otherwise an empty database is refused. */
  mayFound?: boolean;
  /** Returns the address on which HTTP listens, once it does: port 0 of the configuration is a real one only then. */
  boundUrl?: () => string | undefined;
}

/**
 * Opens the store for `init` and other commands of the operator as well as for the server. Close it with `closeStore`.
 * Refuses, before anything is written, a database that does not belong to the folder; call `migrateStore` before using
 * it.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { config, dataDir, mayFound = false } = options;
  const file = path.resolve(dataDir, config.database.path);
  const log = options.log ?? createLog(config.log);
  const meter = openMeter(options, log);
  const blobs = openOwnBlobs(options, meter);
  try {
    // Opening an SQLite file would create it.
    if (config.database.driver !== 'pg' && !existsSync(file)) {
      await mustHaveDatabase({ config, dataDir, blobs }, mayFound);
    }
  } catch (error) {
    await blobs.close();
    throw error;
  }
  const store = await connectStore({ ...options, log }, { blobs, file, meter });
  try {
    await mustNotBeMoved(store.db);
    await mustHaveBlobsHere(store);
    await mustBelongTogether(store, { sealed: sealedColumns, mayFound });
  } catch (error) {
    await closeStore(store);
    throw error;
  }
  return store;
}

/**
 * Migrates the schema to this version and makes sure that database and folders have the same id; returns the migrations
 * that ran. Before it changes a database in use it checks for free space and makes a backup, or refuses.
 */
export async function migrateStore(
  store: Store,
  { isNode = false, ...wishes }: UpgradeWishes & StartWishes = {},
): Promise<string[]> {
  await outwaitMove(store, isNode);
  const { done: before, pending } = await schemaState(store.db);
  if (before.length === 0) await mustTakeAnyText(store);
  const isUpgrade = before.length > 0 && pending.length > 0;
  const done = isUpgrade ? await upgrade(store, wishes) : await migrate(store.db);
  await bindInstallation(store, sealedColumns);
  if (isNode) await leaveWitness(store);
  await noteUse(store.db);
  return done;
}

export interface StartWishes {
  /**
   * The process is a node: it waits for a move of the database in progress, and shows the others where it keeps blobs;
   * a command does neither.
   */
  isNode?: boolean;
}

const MOVE_POLL_MS = 1000;

/** Waits for a move of the database: a node must neither end one that is being made, nor stay down when it fails. */
async function outwaitMove({ db, log }: Store, isNode: boolean): Promise<void> {
  for (let isSaid = false; ; isSaid = true) {
    const mark = await moveUnderWay(db);
    if (!mark) break;
    if (!isNode) throw new MoveUnderWay(`${saysUnderWay(mark)}; try again then`);
    if (!isSaid) log.warn(`${saysUnderWay(mark)}; this start waits for it`);
    await new Promise<void>((done) => void systemClock.timer(MOVE_POLL_MS, done));
  }
  await mustNotBeMoved(db);
}

async function upgrade(store: Store, wishes: UpgradeWishes): Promise<string[]> {
  const { beforeUpgrade, takeTurn } = await import('./features/installation/index.ts');
  const endTurn = await takeTurn(store);
  try {
    // Another node may have done it meanwhile.
    const { done, pending } = await schemaState(store.db);
    const from = done.at(-1) ?? '';
    await mustNotBeApplied(store.db);
    if (pending.length > 0) await beforeUpgrade(store, { ...wishes, from, sealed: await sealedColumns() });
    return await migrate(store.db);
  } finally {
    await endTurn();
  }
}

/** Opens the target of a move, without reading or writing anything. */
export function connectAsFound(options: StoreOptions): Promise<Store> {
  const log = options.log ?? createLog(options.config.log);
  const meter = openMeter(options, log);
  const file = path.resolve(options.dataDir, options.config.database.path);
  return connectStore({ ...options, log }, { blobs: openOwnBlobs(options, meter), file, meter });
}

function openMeter({ config, clock = systemClock }: StoreOptions, log: Log): Meter {
  const fault = (err: unknown, gauge: string): void => log.error({ err, gauge }, 'a gauge cannot be read');
  return createMeter({ domains: config.metrics.domains, now: clock.now, fault });
}

const openOwnBlobs = (options: StoreOptions, meter: Meter): Blobs =>
  openBlobs(options.config.blobs, {
    dataDir: options.dataDir,
    now: () => (options.clock ?? systemClock).now(),
    random: options.random ?? Math.random,
    observe({ operation, result, sentBytes, receivedBytes }) {
      meter.count('rasket_blob_requests_total', { operation, result });
      meter.count('rasket_blob_bytes_total', { direction: 'sent' }, sentBytes);
      meter.count('rasket_blob_bytes_total', { direction: 'received' }, receivedBytes);
    },
  });

interface Parts {
  blobs: Blobs;
  file: string;
  meter: Meter;
}

async function connectStore(options: StoreOptions & { log: Log }, { blobs, file, meter }: Parts): Promise<Store> {
  const { config, dataDir, boundUrl, log } = options;
  const clock = options.clock ?? systemClock;
  const openedTo = closeInstanceKey(dataDir);
  if (openedTo !== undefined)
    log.warn({ mode: openedTo }, 'instance.key could be read by other accounts; its mode is now 600');
  const secrets = openSecrets(dataDir);
  const tracer = createTracer({
    percent: config.traces.endpoint === '' ? 0 : config.traces.sample_percent,
    now: () => clock.now(),
    drop: (count) => meter.count('rasket_trace_spans_dropped_total', {}, count),
  });
  const { driver, url, pool_max: poolMax } = config.database;
  const db = await openDb({
    driver,
    url,
    file,
    poolMax,
    timelineFile: path.join(dataDir, TIMELINE_FILE),
    onServer: (notice) => logServer(log, notice),
  });
  const { public_url: publicUrl, host, port } = config.http;
  return {
    config,
    db,
    commits: createGroupCommit(db),
    clock,
    loopDelay: options.loopDelay ?? UNMEASURED,
    ids: createIds(clock),
    random: options.random ?? Math.random,
    makeRsaKey: options.makeRsaKey ?? makeRsaKey,
    passwords: createPasswords(options.passwordCost),
    secrets,
    blobs: keptByCopies(blobs, { db, dataDir }),
    texts: createTextThread(),
    log,
    mailLog: createMailLog(log, meter, tracer),
    meter,
    tracer,
    dataDir,
    origin: () => boundUrl?.() ?? (publicUrl || `http://${host.includes(':') ? `[${host}]` : host}:${port}`),
  };
}

function logServer(log: Log, notice: ServerNotice): void {
  const { host } = notice;
  if (notice.kind === 'in use') log.info({ host, timeline: notice.timeline }, 'PostgreSQL server in use');
  else log.error({ host, reason: notice.reason }, 'a PostgreSQL server that accepts writes is not used');
}

export async function closeStore(store: Store): Promise<void> {
  await store.texts.close();
  await store.commits.settled();
  await store.db.close();
  await store.blobs.close();
}

/**
 * Loaded on demand: the owners are most of the program, and a database that has its id, or is new, is opened without
 * them.
 */
const sealedColumns = async (): Promise<readonly SealedColumn[]> =>
  (await import('./sealed-columns.ts')).SEALED_COLUMNS;
