import { createHash } from 'node:crypto';
import { isoTime } from '../../platform/clock/index.ts';
import type { Db, Executor } from '../../platform/db/index.ts';
import { InstallationMismatch } from './installation.ts';
import { readMoveText, removeMove, removeMoveText, replaceMoveText, writeMoveText } from './moves.store.ts';

/** What a database says of its own move to another one, or from another one. */
export interface MoveMark {
  /**
   * `copying`: it is written, and not whole. `copied`: it is whole, and no server has used it yet. `moved`: its rows live on in another
   * database.
   */
  state: 'copying' | 'copied' | 'moved';
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

export const noteMove = (db: Executor, mark: MoveMark): Promise<void> => writeMoveText(db, JSON.stringify(mark));

export const forgetMove = (db: Executor): Promise<void> => removeMove(db);

export const installationHash = (id: string): string => createHash('sha256').update(`installation ${id}`).digest('hex');

/** Asked before anything else of it is read: mail in two databases would be sent twice. */
export async function mustNotBeMoved(db: Db): Promise<void> {
  const mark = await readMove(db);
  if (!mark || mark.state === 'copied') return;
  const { state, other, at } = mark;
  const command = db.dialect === 'pg' ? 'migrate-to-postgres' : 'migrate-to-sqlite';
  const back = db.dialect === 'pg' ? 'migrate-to-sqlite' : 'migrate-to-postgres';
  throw new InstallationMismatch(
    state === 'moved'
      ? `this database was moved to ${other} at ${isoTime(at)} and is kept as it was then; let database.driver lead there. What came since is brought back by: rasket ${command}. Before anything used the other database, the move is undone by: rasket ${back} --undo --to …`
      : `this database is an unfinished copy of ${other}; finish it with: rasket ${command} again, with the settings of ${other}, or go on with that one`,
  );
}

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
