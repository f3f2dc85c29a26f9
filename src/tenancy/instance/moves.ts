import { createHash } from 'node:crypto';
import { isoTime } from '../../platform/clock.ts';
import { hasMoveSession, lowerFence, raiseFence, type Db, type Executor } from '../../platform/db/index.ts';
import { InstallationMismatch } from './installation.ts';
import { readMoveText, removeMove, removeMoveText, replaceMoveText, writeMoveText } from './instance.store.ts';

/** What a database says of its own move to another one, or from another one. */
export interface MoveMark {
  /**
   * `copying`: it is written, and not whole. `copied`: it is whole, and no server has used it yet. `leaving`: it takes no writes, because
   * its rows are being compared with their copy. `moved`: its rows live on in another database, and it takes no writes any more.
   */
  state: 'copying' | 'copied' | 'leaving' | 'moved';
  /** Of which installation, as a hash: the id itself stands in a database only sealed. */
  installation: string;
  /** The database at the other end, without a password. */
  other: string;
  at: number;
}

/** Also of a database that is not migrated yet. */
export async function readMove(db: Pick<Db, 'dialect' | 'get'>): Promise<MoveMark | undefined> {
  const text = await readMoveText(db);
  return text === undefined ? undefined : (JSON.parse(text) as MoveMark);
}

/** Whether a move that has not ended has it refuse all writes. */
export const isLeaving = async (db: Pick<Db, 'dialect' | 'get'>): Promise<boolean> =>
  (await readMove(db))?.state === 'leaving';

export const noteMove = (db: Executor, mark: MoveMark): Promise<void> => writeMoveText(db, JSON.stringify(mark));

/** What says how it stands with the move can be written while nothing else can. */
const FENCE = { except: ['database_moves'] };

/** In one transaction with `look`, which is asked once no client can write any more. */
export async function noteLeaving(
  db: Db,
  mark: MoveMark & { state: 'leaving' },
  look: () => Promise<void>,
): Promise<void> {
  await db.tx(async (tx) => {
    await raiseFence(tx, FENCE);
    await look();
    await noteMove(tx, mark);
  });
}

/** Of one that was moved before there were fences, too. */
export const fenceMoved = (db: Db): Promise<void> => db.tx((tx) => raiseFence(tx, FENCE));

/** False where a node has used the database since, which is not refused any more. */
export const noteMoved = (db: Executor, leaving: MoveMark, at: number): Promise<boolean> =>
  replaceMoveText(db, JSON.stringify(leaving), JSON.stringify({ ...leaving, state: 'moved', at } satisfies MoveMark));

/** One whose move was undone, and takes writes again. */
export async function forgetMove(db: Db): Promise<void> {
  await db.tx(async (tx) => {
    await lowerFence(tx);
    await removeMove(tx);
  });
}

/** Ends a move that has not come to its end, as where it was killed: the database is in force, as it was all the time. */
export async function stayHere(db: Db): Promise<void> {
  const text = await readMoveText(db);
  if (text === undefined || (JSON.parse(text) as MoveMark).state !== 'leaving') return;
  await db.tx(async (tx) => {
    // Of this and the end of the move at the same moment one alone happens.
    if (await removeMoveText(tx, text)) await lowerFence(tx);
  });
}

/** Nothing is wrong: the same works once the move has ended or failed. */
export class MoveUnderWay extends Error {
  override readonly name = 'MoveUnderWay';
}

/**
 * The mark of a move that is under way at this moment. One that was killed, or whose machine is gone, is ended: the database takes writes
 * again. Who moves an SQLite file has locked its folder, so that whoever holds that finds such a move only.
 */
export async function moveUnderWay(db: Db): Promise<MoveMark | undefined> {
  const mark = await readMove(db);
  if (mark?.state !== 'leaving') return undefined;
  if (db.dialect === 'pg' && (await hasMoveSession(db))) return mark;
  await stayHere(db);
  // Another move may have begun since.
  const now = await readMove(db);
  return now?.state === 'leaving' ? now : undefined;
}

export const installationHash = (id: string): string => createHash('sha256').update(`installation ${id}`).digest('hex');

/** It takes a person to go on: the settings lead to a database that is out of use. */
export class DatabaseMoved extends InstallationMismatch {
  override readonly name = 'DatabaseMoved';
}

/** Asked before anything else of it is read: mail in two databases would be sent twice. */
export async function mustNotBeMoved(db: Pick<Db, 'dialect' | 'get'>): Promise<void> {
  const mark = await readMove(db);
  if (!mark || mark.state === 'copied' || mark.state === 'leaving') return;
  const { state, other, at } = mark;
  const command = db.dialect === 'pg' ? 'migrate-to-postgres' : 'migrate-to-sqlite';
  const back = db.dialect === 'pg' ? 'migrate-to-sqlite' : 'migrate-to-postgres';
  throw new DatabaseMoved(
    state === 'moved'
      ? `this database was moved to ${other} at ${isoTime(at)} and is kept as it was then; let database.driver lead there. What came since is brought back by: rasket ${command}. Before anything used the other database, the move is undone by: rasket ${back} --undo --to …`
      : `this database is an unfinished copy of ${other}; finish it with: rasket ${command} again, with the settings of ${other}, or go on with that one`,
  );
}

/** What a node says of a move that it meets. */
export const saysUnderWay = ({ other, at }: MoveMark): string =>
  `this database is being moved to ${other} (since ${isoTime(at)}); nothing is written to it until that has ended or failed`;

export const saysMoved = ({ other, at }: MoveMark): string =>
  `this database was moved to ${other} (${isoTime(at)}); this node stops`;

/**
 * From the first use on, a move is not undone any more: only moved back. Of a use and an undoing at the same moment one alone happens; throws
 * where that is the undoing.
 */
export async function noteUse(db: Db): Promise<void> {
  const text = await readMoveText(db);
  if (text === undefined) return;
  const isUnused = (JSON.parse(text) as MoveMark).state === 'copied';
  if (!isUnused || !(await removeMoveText(db, text))) await mustNotBeMoved(db);
}

/** Makes an unfinished copy of it again; false where somebody has used it since `copy` was read. */
export const noteUnfinished = (db: Executor, copy: MoveMark, at: number): Promise<boolean> =>
  replaceMoveText(db, JSON.stringify(copy), JSON.stringify({ ...copy, state: 'copying', at } satisfies MoveMark));
