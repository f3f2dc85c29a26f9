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
  type CopiedTable,
  type CopyWatch,
  type ReadOnlyDb,
} from '../../../platform/db/index.ts';
import { nodeIdOf } from '../../../platform/process-mark/index.ts';
import type { SealedColumn } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { indexEmails } from '../../../mail/emails/index.ts';
import { indexInboxes } from '../../inbox/inbox-threads/index.ts';
import {
  installationHash,
  mustBelongTogether,
  noteMove,
  readMove,
  settleHere,
} from '../../../tenancy/instance/index.ts';
import { APART } from './apart.ts';
import { checkContents, type ContentsCheck } from './check-contents.ts';
import {
  MoveDone,
  MoveRefused,
  mustBeAlone,
  mustBeDatabase,
  mustHaveRoom,
  mustTakeEverything,
  named,
  targetState,
} from './ends.ts';
import type { MoveEnd } from './ends.ts';
import { leaveSource } from './leave-source.ts';

export type MovePhase = 'counting' | 'copying' | 'verifying' | 'reading contents' | 'indexing' | 'finishing';

export interface MoveWatch extends CopyWatch {
  /** `rows`: how many are to be done in it, where that is known. */
  begin(phase: MovePhase, rows?: number): void;
}

export interface MoveOrder extends Pick<Store, 'config' | 'dataDir' | 'blobs' | 'secrets' | 'clock'> {
  from: MoveEnd;
  to: MoveEnd;
  /** A Store on the target, of which nothing is asked. */
  openTarget(to: MoveEnd): Promise<Store>;
  sealed: () => Promise<readonly SealedColumn[]>;
  /** Writes what the target alone knows of it, such as who asked for it. */
  conclude(target: Store): Promise<void>;
  watch: MoveWatch;
}

export interface MovePlan {
  tables: { name: string; rows: number }[];
  rows: number;
  /** What the source takes on its disk. */
  bytes: number;
  /** Whether the target holds an interrupted copy, which is made anew. */
  isAgain: boolean;
}

export interface Moved extends MovePlan {
  hashes: { name: string; rows: number; hash: string }[];
  contents: ContentsCheck;
}

/** What a move would do; nothing is written anywhere. */
export const planMove = (order: MoveOrder): Promise<MovePlan> =>
  onSource(order, async (source, from, to) => (await lookAtEnds(order, { source, from, to })).plan);

/**
 * Copies every row to another database, has the source refuse all writes, compares the rows one by one, and only then says of the source
 * that it was moved. Until then no start of the program takes the target for whole, and one on the source has it take writes again. Killed
 * at any moment, it is begun anew.
 */
export const moveDatabase = (order: MoveOrder): Promise<Moved> =>
  alone(order, async (source, from, to) => {
    const version = await source.version();
    const { plan, installation, mark } = await lookAtEnds(order, { source, from, to });
    await mustBeAlone(source, from.says);
    const target = await order.openTarget(to);
    try {
      const tables = await beginCopy(order, { source, target, installation, from });
      await copyAll(order, { source, target, tables, rows: plan.rows });
      const isUnchanged = async (): Promise<boolean> => (await source.version()) === version;
      const leaving = await leaveSource(order, { from, to, installation, isMoved: mark !== undefined, isUnchanged });
      const { hashes, contents } = await leaving.orStay(async () => {
        // On a source that takes no writes any more, so that whatever was written to it before is found.
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

/** No other process uses the data folder meanwhile. */
async function alone<T>(
  order: MoveOrder,
  work: (source: ReadOnlyDb, from: MoveEnd, to: MoveEnd) => Promise<T>,
): Promise<T> {
  mkdirSync(path.join(order.dataDir, 'run'), { recursive: true, mode: 0o700 });
  const letGo = lockDataFolder(order.dataDir);
  try {
    return await onSource(order, work);
  } finally {
    letGo();
  }
}

async function onSource<T>(order: MoveOrder, work: Parameters<typeof alone<T>>[1]): Promise<T> {
  const [from, to] = [named(order.from), named(order.to)];
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

async function lookAtEnds(order: MoveOrder, { source, from, to }: Ends) {
  const { pending } = await schemaState(source);
  if (pending.length > 0)
    throw new MoveRefused(`${from.says} is of an older version; bring it up to this one first: rasket migrate`);
  const id = await mustBelongTogether({ ...order, db: source }, { sealed: order.sealed, mayFound: false });
  if (id === undefined)
    throw new MoveRefused(`${from.says} belongs to no installation yet; start the service on it once`);
  const installation = installationHash(id);
  const mark = await markOf(source);
  const state = await lookAtTarget(to, installation);
  if (mark?.state === 'moved' && state === 'whole' && mark.other === to.says)
    throw new MoveDone(
      `this was done already: the rows are in ${mark.other}, which nobody has used yet. Let the settings lead there, by hand or with --write-config, and start the service`,
    );
  if (mark?.state === 'moved' && state !== 'half')
    throw new MoveRefused(`this database was moved to ${mark.other} already. Nothing was changed`);
  if (state === 'whole')
    throw new MoveRefused(
      `${to.says} holds a whole copy that nobody has used yet. Name an empty database. Nothing was changed`,
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

async function markOf(source: ReadOnlyDb): Promise<Awaited<ReturnType<typeof readMove>>> {
  const mark = await readMove(source);
  if (mark?.state === 'copying')
    throw new MoveRefused(
      `this database is an unfinished copy of ${mark.other}: move from there again. Nothing was changed`,
    );
  // One that was copied and not used yet is as good as any.
  return mark?.state === 'moved' ? mark : undefined;
}

/** A file that is not there is empty, and is not made by a look. */
async function lookAtTarget(to: MoveEnd, installation: string): ReturnType<typeof targetState> {
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

/** From here on the target is an unfinished copy, and says so. */
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
  // Of another moment than the copy, so that a write to the source in between is found.
  return source.snapshot(async (at) => {
    const hashes: Moved['hashes'] = [];
    for (const table of tables) hashes.push({ name: table.name, ...(await verifyTable(at, target.db, table, watch)) });
    return hashes;
  });
}

/** What no row of the source can be copied for. */
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
    await settleHere(tx, { nodeId: nodeIdOf(dataDir), at });
    await noteMove(tx, { state: 'copied', installation, other: from.says, at });
  });
}
