import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import {
  countRows,
  MOVE_SESSION,
  otherSessions,
  schemaState,
  serverFacts,
  tableShapes,
  type DatabaseSession,
  type Executor,
  type OpenDbOptions,
} from '../../../platform/db/index.ts';
import { readMove } from '../../../tenancy/instance/index.ts';

/** Tables that are not copied row by row, with the reason that nothing is lost. */
export const APART: Readonly<Record<string, string>> = {
  schema_migrations: 'the migrations that ran on the target write it',
  schema_migrations_lock: 'the migrations that ran on the target write it',
  database_moves: 'what a database says of its own move holds for it alone',
  table_changes: 'the numbers by which processes know of changes; the triggers of the target write them',
  node_reports: 'what the processes reported that have ended; those of the target report anew',
  email_search_blocks: 'the index of the search, which has another form on each database; made anew from the emails',
  email_search_grams: 'the same, as SQLite has it',
  inbox_search_blocks: 'the index of the search in inboxes; made anew from the emails of the inboxes',
  inbox_search_grams: 'the same, as SQLite has it',
};

/** The move was refused: nothing was changed, and an operator has to act first. */
export class MoveRefused extends Error {
  override readonly name = 'MoveRefused';
}

/** The move is complete, and nobody has used the copy yet: only the settings do not point to it. */
export class MoveDone extends MoveRefused {}

/** A database at one end of a move. */
export interface MoveEnd {
  options: OpenDbOptions;
  /** Name for messages: an address without a password, or a file. */
  says: string;
}

/** Application name of our connections, which distinguishes them from those of other processes. */
export const CONNECTION = `${MOVE_SESSION}${process.pid}`;

export function named({ options, says }: MoveEnd): MoveEnd {
  if (options.driver !== 'pg') return { options, says };
  const { url } = options;
  return { says, options: { ...options, url: `${url}${url.includes('?') ? '&' : '?'}application_name=${CONNECTION}` } };
}

/**
 * State of a target. `empty` has no data. `half` is an interrupted copy of this installation, `whole` a complete one.
 */
type TargetState = 'empty' | 'half' | 'whole';

/** Returns the state of the target; refuses one with any other content. */
export async function targetState(db: Executor, says: string, installation: string): Promise<TargetState> {
  const mark = await readMove(db);
  const isCopy = mark?.state === 'copying' || mark?.state === 'copied';
  if (isCopy && mark.installation === installation) return mark.state === 'copying' ? 'half' : 'whole';
  if (mark?.state === 'leaving') throw notEmpty(says, `its rows were about to be moved to ${mark.other}`);
  if (mark?.state === 'copying') throw notEmpty(says, 'it contains an unfinished copy of another installation');
  if (mark?.state === 'moved') throw notEmpty(says, `its rows were moved to ${mark.other}, and it is kept unchanged`);
  const tables = await tableShapes(db);
  if (tables.length === 0) return 'empty';
  if ((await schemaState(db)).done.length === 0) throw notEmpty(says, `it has the table ${tables[0]?.name ?? ''}`);
  for (const { name } of tables) {
    // Migrations write these tables.
    if (name in APART || name === 'instance_settings') continue;
    const rows = await countRows(db, name);
    if (rows > 0) throw notEmpty(says, `it has ${rows} rows of ${name}`);
  }
  return 'empty';
}

const notEmpty = (says: string, because: string): MoveRefused =>
  new MoveRefused(`${says} is not empty: ${because}. Choose an empty database. Nothing was changed`);

/** Refuses an existing file that is not a database: it was named by mistake, and is left unchanged. */
export function mustBeDatabase({ options, says }: MoveEnd): void {
  if (options.driver === 'pg') return;
  const found = statSync(options.file);
  if (found.isFile() && (found.size === 0 || readBeginning(options.file).startsWith('SQLite format 3\0'))) return;
  const what = found.isDirectory() ? 'a folder' : 'not an SQLite database';
  throw new MoveRefused(`${says} is ${what}. Choose a new file. Nothing was changed`);
}

function readBeginning(file: string): string {
  const opened = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(16);
    return bytes.toString('latin1', 0, readSync(opened, bytes));
  } finally {
    closeSync(opened);
  }
}

/** Throws unless PostgreSQL allows everything that the move needs; runs before anything is written. */
export async function mustTakeEverything(db: Executor, says: string): Promise<void> {
  if (db.dialect !== 'pg') return;
  const facts = await serverFacts(db);
  const refuse = (because: string): MoveRefused => new MoveRefused(`${says} ${because}. Nothing was changed`);
  if (facts.isReplica) throw refuse('is a replica, which cannot be written to; use its primary');
  if (facts.isReadOnly) throw refuse('is read-only (default_transaction_read_only)');
  if (facts.encoding !== 'UTF8')
    throw refuse(`has the encoding ${facts.encoding}; create one with: createdb --encoding UTF8 --template template0`);
  if (!facts.mayCreate)
    throw refuse(
      'does not let this user create tables; make the user its owner: createdb --owner, or alter database … owner to …',
    );
  await mustBeAlone(db, says);
}

export async function mustBeAlone(db: Executor, says: string): Promise<void> {
  if (db.dialect !== 'pg') return;
  const others = await otherSessions(db, CONNECTION);
  if (others.length === 0) return;
  const pids = others.map(({ pid }) => pid).join(', ');
  const open =
    others.length === 1 ? 'another connection of rasket is' : `${others.length} other connections of rasket are`;
  throw new MoveRefused(
    `${open} open to ${says}; stop all nodes and commands first. They are: ${listed(others)}. Connections of a machine without network end within a minute; to end them at once: select pg_terminate_backend(pid) from unnest(array[${pids}]) as pid. Nothing was changed`,
  );
}

const LISTED_MAX = 20;

function listed(sessions: readonly DatabaseSession[]): string {
  const shown = sessions.slice(0, LISTED_MAX).map(({ pid, application, host, openMs }) => {
    const from = host === null ? 'a socket of its own machine' : host;
    return `"${application}" from ${from}, open for ${formatAge(openMs)} (${pid})`;
  });
  const more = sessions.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** A SQLite file takes about as much as the rows take elsewhere; its log takes a little more. */
const ROOM_FACTOR = 1.2;

/** Throws if a SQLite target has no room on the disk of this machine. */
export async function mustHaveRoom(end: MoveEnd, bytes: number): Promise<void> {
  const { driver, file } = end.options;
  if (driver === 'pg') return;
  const folder = path.dirname(file);
  if (!existsSync(folder)) throw new MoveRefused(`${folder} does not exist; create it first. Nothing was changed`);
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    throw new MoveRefused(`this user cannot create files in ${folder}. Nothing was changed`);
  }
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize + (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  const needed = Math.ceil(bytes * ROOM_FACTOR);
  if (free < needed)
    throw new MoveRefused(
      `${megabytes(needed)} are needed on the disk of ${folder}, but only ${megabytes(free)} are free. Nothing was changed`,
    );
}

export const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1_000_000).toLocaleString('en')} MB`;
