import { createHash } from 'node:crypto';
import { isoTime } from '../../platform/clock.ts';
import { hasMoveSession, lowerFence, raiseFence, type Db, type Executor } from '../../platform/db/index.ts';
import { InstallationMismatch } from './installation.ts';
import { readMoveText, removeMove, removeMoveText, replaceMoveText, writeMoveText } from './instance.store.ts';

/** The record in a database of its own move to another one, or from another one. */
export interface MoveMark {
  /**
   * `copying`: it is being filled, and is incomplete. `copied`: it is complete, and no server has used it yet.
   * `leaving`: it accepts no writes, because its rows are being compared with their copy. `moved`: another database has
   * replaced it, and it accepts no writes any more.
   */
  state: 'copying' | 'copied' | 'leaving' | 'moved';
  /** Hash of the id of the installation: in a database the id itself is only stored sealed. */
  installation: string;
  /** The database at the other end, without a password. */
  other: string;
  at: number;
}

/** Reads the mark, also from a database that is not migrated yet. */
export async function readMove(db: Pick<Db, 'dialect' | 'get'>): Promise<MoveMark | undefined> {
  const text = await readMoveText(db);
  return text === undefined ? undefined : (JSON.parse(text) as MoveMark);
}

/** Reports whether an unfinished move makes the database refuse all writes. */
export const isLeaving = async (db: Pick<Db, 'dialect' | 'get'>): Promise<boolean> =>
  (await readMove(db))?.state === 'leaving';

export const noteMove = (db: Executor, mark: MoveMark): Promise<void> => writeMoveText(db, JSON.stringify(mark));

/** The table of the mark stays writable while no other is. */
const FENCE = { except: ['database_moves'] };

/** Fences the database and calls `look` in one transaction, once no client can write any more. */
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

/** Fences a database that was moved, including one that was moved before fences existed. */
export const fenceMoved = (db: Db): Promise<void> => db.tx((tx) => raiseFence(tx, FENCE));

/** Returns false if a node has used the database since, which is not refused any more. */
export const noteMoved = (db: Executor, leaving: MoveMark, at: number): Promise<boolean> =>
  replaceMoveText(db, JSON.stringify(leaving), JSON.stringify({ ...leaving, state: 'moved', at } satisfies MoveMark));

/** Removes the mark of a database whose move was undone, so that it accepts writes again. */
export async function forgetMove(db: Db): Promise<void> {
  await db.tx(async (tx) => {
    await lowerFence(tx);
    await removeMove(tx);
  });
}

/** Ends a move that did not complete, for instance because it was killed: the database remains the one in use. */
export async function stayHere(db: Db): Promise<void> {
  const text = await readMoveText(db);
  if (text === undefined || (JSON.parse(text) as MoveMark).state !== 'leaving') return;
  await db.tx(async (tx) => {
    // Of this and the completion of the move at the same moment only one succeeds.
    if (await removeMoveText(tx, text)) await lowerFence(tx);
  });
}

/** Thrown while a move is under way. Nothing is wrong: the same works once the move has ended or failed. */
export class MoveUnderWay extends Error {
  override readonly name = 'MoveUnderWay';
}

/**
 * Returns the mark of a move that is under way at this moment. Ends a move that was killed, or whose machine is gone:
 * the database accepts writes again. A move of an SQLite file locks its folder, so a caller that holds that lock finds
 * only moves that have ended so.
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

/** Thrown if an operator has to act: the settings name a database that is out of use. */
export class DatabaseMoved extends InstallationMismatch {
  override readonly name = 'DatabaseMoved';
}

/** Called before anything else of a database is read: mail in two databases would be sent twice. */
export async function mustNotBeMoved(db: Pick<Db, 'dialect' | 'get'>): Promise<void> {
  const mark = await readMove(db);
  if (!mark || mark.state === 'copied' || mark.state === 'leaving') return;
  const { state, other, at } = mark;
  const command = db.dialect === 'pg' ? 'migrate-to-postgres' : 'migrate-to-sqlite';
  const back = db.dialect === 'pg' ? 'migrate-to-sqlite' : 'migrate-to-postgres';
  throw new DatabaseMoved(
    state === 'moved'
      ? `this database was moved to ${other} at ${isoTime(at)} and is kept unchanged since; point database.driver to the new one. To bring back what was added since: rasket ${command}. To undo the move before anything used the other database: rasket ${back} --undo --to …`
      : `this database is an unfinished copy of ${other}; finish it with: rasket ${command} again, with the settings of ${other}, or continue with that database`,
  );
}

/** Formats the message of a node that encounters a move. */
export const saysUnderWay = ({ other, at }: MoveMark): string =>
  `this database is being moved to ${other} (since ${isoTime(at)}); nothing is written to it until the move has ended or failed`;

export const saysMoved = ({ other, at }: MoveMark): string =>
  `this database was moved to ${other} (${isoTime(at)}); this node stops`;

/**
 * Notes the first use of a copy, after which the move can no longer be undone, only made in reverse. Of a use and an
 * undo at the same moment only one succeeds; throws if the undo does.
 */
export async function noteUse(db: Db): Promise<void> {
  const text = await readMoveText(db);
  if (text === undefined) return;
  const isUnused = (JSON.parse(text) as MoveMark).state === 'copied';
  if (!isUnused || !(await removeMoveText(db, text))) await mustNotBeMoved(db);
}

/** Marks a copy as incomplete again; returns false if a node has used it since `copy` was read. */
export const noteUnfinished = (db: Executor, copy: MoveMark, at: number): Promise<boolean> =>
  replaceMoveText(db, JSON.stringify(copy), JSON.stringify({ ...copy, state: 'copying', at } satisfies MoveMark));
