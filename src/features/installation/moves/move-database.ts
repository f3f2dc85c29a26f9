import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import {
  copyTable,
  countRows,
  databaseBytes,
  emptyTables,
  gatherStatistics,
  lockDataFolder,
  migrate,
  openReadOnly,
  planCopy,
  schemaState,
  tableShapes,
  verifyTable,
  openDb,
  isLockTimeout,
  openPgPresence,
  type CopiedTable,
  type CopyWatch,
  type ReadOnlyDb,
} from '../../../platform/db/index.ts';
import { loadNodeId } from '../../../platform/process-mark/index.ts';
import type { SealedColumn } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store.ts';
import { indexEmails } from '../../../mail/emails/index.ts';
import { indexInboxes } from '../../inbox/index.ts';
import {
  installationHash,
  mustBelongTogether,
  noteMove,
  readMove,
  settleHere,
  forgetMove,
  noteUnfinished,
  fenceMoved,
  noteLeaving,
  noteMoved,
  stayHere,
  type MoveMark,
} from '../../../tenancy/instance/index.ts';
import {
  APART,
  MoveDone,
  MoveRefused,
  mustBeAlone,
  mustBeDatabase,
  mustHaveRoom,
  mustTakeEverything,
  named,
  targetState,
  CONNECTION,
  type MoveEnd,
} from './move-ends.ts';
import { createHash } from 'node:crypto';
import { filesOfOwners } from '../../../mail/contents/index.ts';
import { keysInRows, namedContents } from './named-contents.store.ts';

interface ContentsCheck {
  /** Number of contents that rows name; `files` is the number of those that are files. */
  named: number;
  files: number;
  /** First contents that are missing, or differ from their row. */
  faults: string[];
  missing: number;
}

const TOLD_MAX = 20;

/** Checks that every content named by a row exists: files stay in place and are not copied. */
async function checkContents(store: Pick<Store, 'db' | 'blobs'>): Promise<ContentsCheck> {
  const check: ContentsCheck = { named: 0, files: 0, faults: [], missing: 0 };
  for await (const { table, named } of namedContents(store.db)) {
    check.named += named.length;
    const owners = [...new Set(named.map(({ owner }) => owner))];
    const inRows = await keysInRows(store.db, owners);
    const files = await filesOfOwners(store.db, owners);
    const hashes = new Map(files.map(({ owner_id: owner, name, sha256 }) => [`${owner}/${name}`, sha256]));
    for (const content of named) {
      const key = `${content.owner}/${content.name}`;
      // The rows themselves were compared one by one.
      if (inRows.has(key)) continue;
      check.files++;
      const fault = await faultOfFile(store, content.sha256 ?? hashes.get(key) ?? null, key);
      if (fault === undefined) continue;
      check.missing++;
      if (check.faults.length < TOLD_MAX) check.faults.push(`${table} ${content.id}: the content ${key} ${fault}`);
    }
  }
  return check;
}

async function faultOfFile(
  { blobs }: Pick<Store, 'blobs'>,
  sha256: string | null,
  key: string,
): Promise<string | undefined> {
  const found = await blobs.open(key);
  if (!found) return 'is missing';
  const hash = createHash('sha256');
  try {
    // Reads the whole file, so that an unreadable disk is noticed now.
    for await (const piece of found.content as AsyncIterable<Buffer>) hash.update(piece);
  } catch (error) {
    return `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`;
  }
  return sha256 !== null && hash.digest('hex') !== sha256 ? 'has a different hash than its row' : undefined;
}

/**
 * Makes the moved database the active one again, as long as no server has used the copy, which counts as unfinished
 * from then on. Otherwise, what was sent from the copy would be sent again.
 */
export async function undoMove(order: Pick<MoveOrder, 'from' | 'to' | 'dataDir' | 'clock'>): Promise<void> {
  mkdirSync(path.join(order.dataDir, 'run'), { recursive: true, mode: 0o700 });
  const release = lockDataFolder(order.dataDir);
  try {
    await undo(named(order.from), named(order.to), order.clock.now());
  } finally {
    release();
  }
}

async function undo(from: MoveEnd, to: MoveEnd, at: number): Promise<void> {
  for (const { options, says } of [from, to])
    if (options.driver !== 'pg' && !existsSync(options.file)) throw new MoveRefused(`there is no database ${says}`);
  const source = await openDb(from.options);
  try {
    const mark = await readMove(source);
    if (mark?.state !== 'moved') throw new MoveRefused(`${from.says} was not moved: there is nothing to undo`);
    const target = await openDb(to.options);
    try {
      const copy = await readMove(target);
      const isCopy = copy?.state === 'copying' || copy?.state === 'copied';
      if (!isCopy || copy.installation !== mark.installation) throw wasUsed(from, to);
      await mustBeAlone(target, to.says);
      // Runs first: a crash in between leaves a move that can be finished or undone again.
      if (!(await noteUnfinished(target, copy, at))) throw wasUsed(from, to);
    } finally {
      await target.close();
    }
    await forgetMove(source);
  } finally {
    await source.close();
  }
}

const wasUsed = (from: MoveEnd, to: MoveEnd): MoveRefused =>
  new MoveRefused(
    `${to.says} is not an unused copy of ${from.says}. Data that was added after its first use can only be brought back by another move. Nothing was changed`,
  );

export type MovePhase = 'counting' | 'copying' | 'verifying' | 'reading contents' | 'indexing' | 'finishing';

export interface MoveWatch extends CopyWatch {
  /** Starts a phase; `rows` is the number of rows to process, if known. */
  begin(phase: MovePhase, rows?: number): void;
}

export interface MoveOrder extends Pick<Store, 'config' | 'dataDir' | 'blobs' | 'secrets' | 'clock'> {
  from: MoveEnd;
  to: MoveEnd;
  /** Opens a Store on the target, without reading or writing anything. */
  openTarget(to: MoveEnd): Promise<Store>;
  sealed: () => Promise<readonly SealedColumn[]>;
  /** Writes facts that only the target knows, such as who requested the move. */
  conclude(target: Store): Promise<void>;
  watch: MoveWatch;
}

export interface MovePlan {
  tables: { name: string; rows: number }[];
  rows: number;
  /** Size of the source on its disk. */
  bytes: number;
  /** The target holds an interrupted copy, which is made again. */
  isAgain: boolean;
}

export interface Moved extends MovePlan {
  hashes: { name: string; rows: number; hash: string }[];
  contents: ContentsCheck;
}

/** Returns what a move would do; writes nothing. */
export const planMove = (order: MoveOrder): Promise<MovePlan> =>
  onSource(order, async (source, from, to) => (await checkEnds(order, { source, from, to })).plan);

/**
 * Copies every row to another database, makes the source refuse all writes, compares the rows one by one, and only then
 * marks the source as moved. Until then, no start of the program takes the target for complete, and a start on the
 * source makes it accept writes again. If the process is killed at any moment, the move can be started over.
 */
export const moveDatabase = (order: MoveOrder): Promise<Moved> =>
  alone(order, async (source, from, to) => {
    const version = await source.version();
    const { plan, installation, mark } = await checkEnds(order, { source, from, to });
    await mustBeAlone(source, from.says);
    const target = await order.openTarget(to);
    try {
      const tables = await beginCopy(order, { source, target, installation, from });
      await copyAll(order, { source, target, tables, rows: plan.rows });
      const isUnchanged = async (): Promise<boolean> => (await source.version()) === version;
      const leaving = await leaveSource(order, { from, to, installation, isMoved: mark !== undefined, isUnchanged });
      const { hashes, contents } = await leaving.orStay(async () => {
        // The source accepts no writes any more, so everything that was written to it before is found.
        const hashes = await verifyAll(order, { source, target, tables, rows: plan.rows });
        order.watch.begin('reading contents');
        const contents = await checkContents(target);
        await indexAll(order, target, tables);
        order.watch.begin('finishing');
        await mustBelongTogether(target, { sealed: order.sealed, mayFound: false });
        await order.conclude(target);
        await leaving.giveUp();
        return { hashes, contents };
      });
      await settle(order, { target, installation, from });
      return { ...plan, hashes, contents };
    } finally {
      await target.db.close();
    }
  });

/** Ensures that no other process uses the data folder meanwhile. */
async function alone<T>(
  order: MoveOrder,
  work: (source: ReadOnlyDb, from: MoveEnd, to: MoveEnd) => Promise<T>,
): Promise<T> {
  mkdirSync(path.join(order.dataDir, 'run'), { recursive: true, mode: 0o700 });
  const release = lockDataFolder(order.dataDir);
  try {
    return await onSource(order, work);
  } finally {
    release();
  }
}

async function onSource<T>(order: MoveOrder, work: Parameters<typeof alone<T>>[1]): Promise<T> {
  const from = named(order.from);
  const to = named(order.to);
  if (from.options.driver !== 'pg' && !existsSync(from.options.file))
    throw new MoveRefused(`there is no database ${from.says}. Nothing was changed`);
  const source = await openReadOnly(from.options);
  try {
    return await work(source, from, to);
  } finally {
    await source.close();
  }
}

interface Ends {
  source: ReadOnlyDb;
  from: MoveEnd;
  to: MoveEnd;
}

async function checkEnds(order: MoveOrder, { source, from, to }: Ends) {
  const { pending } = await schemaState(source);
  if (pending.length > 0) throw new MoveRefused(`${from.says} has an older schema; upgrade it first: rasket migrate`);
  const id = await mustBelongTogether({ ...order, db: source }, { sealed: order.sealed, mayFound: false });
  if (id === undefined)
    throw new MoveRefused(`${from.says} belongs to no installation yet; start the service on it once`);
  const installation = installationHash(id);
  const mark = await loadMark(source);
  const state = await readTargetState(to, installation);
  if (mark?.state === 'moved' && state === 'whole' && mark.other === to.says)
    throw new MoveDone(
      `the move was already made: the rows are in ${mark.other}, which has not been used yet. Point the settings to it, by hand or with --write-config, and start the service`,
    );
  if (mark?.state === 'moved' && state !== 'half')
    throw new MoveRefused(`this database was already moved to ${mark.other}. Nothing was changed`);
  if (state === 'whole')
    throw new MoveRefused(
      `${to.says} contains a complete copy that has not been used yet. Choose an empty database. Nothing was changed`,
    );
  const bytes = await databaseBytes(source);
  await mustHaveRoom(to, bytes);
  order.watch.begin('counting');
  const shapes = await tableShapes(source);
  const tables: MovePlan['tables'] = [];
  for (const { name } of shapes) if (!(name in APART)) tables.push({ name, rows: await countRows(source, name) });
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const plan: MovePlan = { tables, rows, bytes, isAgain: state === 'half' };
  return { plan, installation, mark };
}

async function loadMark(source: ReadOnlyDb): Promise<Awaited<ReturnType<typeof readMove>>> {
  const mark = await readMove(source);
  if (mark?.state === 'copying')
    throw new MoveRefused(
      `this database is an unfinished copy of ${mark.other}: start the move there again. Nothing was changed`,
    );
  // A copy that is complete and not used yet can be used as it is.
  return mark?.state === 'moved' ? mark : undefined;
}

/** Reports a missing file as empty, without creating it. */
async function readTargetState(to: MoveEnd, installation: string): ReturnType<typeof targetState> {
  if (to.options.driver !== 'pg' && !existsSync(to.options.file)) return 'empty';
  mustBeDatabase(to);
  const db = await openReadOnly(to.options);
  try {
    await mustTakeEverything(db, to.says);
    return await targetState(db, to.says, installation);
  } finally {
    await db.close();
  }
}

interface Copy {
  source: ReadOnlyDb;
  target: Store;
}

/** Marks the target as an unfinished copy, and empties its tables. */
async function beginCopy(
  { clock }: MoveOrder,
  { source, target, installation, from }: Copy & { installation: string; from: MoveEnd },
): Promise<CopiedTable[]> {
  await migrate(target.db);
  await noteMove(target.db, { state: 'copying', installation, other: from.says, at: clock.now() });
  const shapes = await tableShapes(target.db);
  const tables = planCopy(await tableShapes(source), shapes, APART);
  const kept = new Set(['database_moves', 'schema_migrations', 'schema_migrations_lock']);
  await emptyTables(
    target.db,
    shapes.map(({ name }) => name).filter((name) => !kept.has(name)),
  );
  return tables;
}

interface CopyOfTables extends Copy {
  tables: readonly CopiedTable[];
  rows: number;
}

async function copyAll({ watch }: MoveOrder, { source, target, tables, rows }: CopyOfTables): Promise<void> {
  watch.begin('copying', rows);
  await source.snapshot(async (at) => {
    for (const table of tables) await copyTable(at, target.db, table, watch);
  });
}

async function verifyAll(
  { watch }: MoveOrder,
  { source, target, tables, rows }: CopyOfTables,
): Promise<Moved['hashes']> {
  watch.begin('verifying', rows);
  // This snapshot is later than the one of the copy, so that a write to the source in between is found.
  return source.snapshot(async (at) => {
    const hashes: Moved['hashes'] = [];
    for (const table of tables) hashes.push({ name: table.name, ...(await verifyTable(at, target.db, table, watch)) });
    return hashes;
  });
}

/** Builds data that no row of the source can be copied for, such as search indexes. */
async function indexAll({ watch }: MoveOrder, target: Store, tables: readonly CopiedTable[]): Promise<void> {
  watch.begin('indexing');
  while ((await indexEmails(target)) > 0);
  while ((await indexInboxes(target)) > 0);
  await gatherStatistics(
    target.db,
    tables.map(({ name }) => name),
  );
}

async function settle(
  { clock, dataDir }: MoveOrder,
  { target, installation, from }: { target: Store; installation: string; from: MoveEnd },
): Promise<void> {
  const at = clock.now();
  await target.db.tx(async (tx) => {
    await settleHere(tx, { nodeId: loadNodeId(dataDir), at });
    await noteMove(tx, { state: 'copied', installation, other: from.says, at });
  });
}

export interface Leaving {
  /** Runs the remaining steps of the move; if they fail, the source accepts writes again. */
  orStay<T>(rest: () => Promise<T>): Promise<T>;
  /** Marks the source as moved: it accepts no writes any more. */
  giveUp(): Promise<void>;
}

interface FinishedMove {
  from: MoveEnd;
  to: MoveEnd;
  installation: string;
  /** The source is already marked as moved: an interrupted move continues from there. */
  isMoved: boolean;
  isUnchanged: () => Promise<boolean>;
}

/**
 * Makes the source refuse every write: a node that was cut off or suspended, and returns during or after the move,
 * cannot accept mail that would never be sent, or send mail that the target sends.
 */
export async function leaveSource(
  { clock, config }: Pick<Store, 'clock' | 'config'>,
  { from, to, installation, isMoved, isUnchanged }: FinishedMove,
): Promise<Leaving> {
  const mark = { state: 'leaving' as const, installation, other: to.says, at: clock.now() } satisfies MoveMark;
  const onSource = async <T>(work: (db: Awaited<ReturnType<typeof openDb>>) => Promise<T>): Promise<T> => {
    const db = await openDb(from.options);
    try {
      return await work(db);
    } finally {
      await db.close();
    }
  };
  const wasChanged = (): MoveRefused =>
    new MoveRefused(`${from.says} was changed while it was copied; stop everything that writes to it, and start again`);
  async function mustBeUnchanged(): Promise<void> {
    if (!(await isUnchanged())) throw wasChanged();
  }
  const end = await showMove(from, config);
  await onSource((db) => (isMoved ? fenceMoved(db) : noteLeaving(db, mark, mustBeUnchanged))).catch(
    async (error: unknown) => {
      await end();
      throw isLockTimeout(error)
        ? new MoveRefused(
            `a node or a command is writing to ${from.says}; stop all nodes and commands first, and start again`,
          )
        : error;
    },
  );
  return {
    async orStay(rest) {
      try {
        return await rest();
      } catch (error) {
        // If the process is killed here, the next start on the source does this.
        await onSource(stayHere).catch(() => undefined);
        throw error;
      } finally {
        await end();
      }
    },
    async giveUp() {
      if (!isMoved && !(await onSource((db) => noteMoved(db, mark, clock.now())))) throw wasChanged();
    },
  };
}

/**
 * Opens the connection by which nodes see that a running command set the fence, so that they wait; without it they
 * remove the fence.
 */
async function showMove({ options }: MoveEnd, { database }: Store['config']): Promise<() => Promise<void>> {
  if (options.driver !== 'pg') return async () => undefined;
  return openPgPresence(database.listen_url || options.url, CONNECTION);
}
