import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { once } from 'node:events';
import { isoTime } from '../../platform/clock.ts';
import type { Row, TableShape, Value } from '../../platform/db/index.ts';
import { refuse, notFound } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { filesOfOwners, openContent } from '../../mail/contents/index.ts';
import { findNamedTeam, type TeamRow } from '../../tenancy/teams/index.ts';
import { contentsInRows, findShape, loadShapes, readOwnedRows, type Shapes } from './team-rows.store.ts';
import {
  ALSO_EXPORTED,
  BILLED_PATHS,
  JSON_COLUMNS,
  listUnknownTables,
  pathsOn,
  SECRET_COLUMNS,
  TEAM_PATHS,
  type TeamPath,
} from './team-tables.ts';

/** Rows that are in memory at once. */
const PAGE = 200;
/** Parents of which each has few rows below it: they are read together. The rows of others may be many. */
const READ_TOGETHER: ReadonlySet<string> = new Set([
  'automation_runs',
  'contacts',
  'emails',
  'images',
  'inbox_drafts',
  'inbox_threads',
  'received_emails',
  'team_members',
]);
const ROWS = 'rows';
const FILES = 'files';
const MANIFEST = 'manifest.json';
const FORMAT = 'rasket-team-export/1';

interface ExportedFile {
  rows: number;
  bytes: number;
  sha256: string;
}

export interface TeamManifest {
  format: typeof FORMAT;
  team: { id: string; name: string; slug: string };
  started_at: string;
  finished_at: string;
  version: string;
  /** By file: how many rows it has, and its checksum. */
  rows: Record<string, ExportedFile>;
  files: { count: number; bytes: number };
  /** Contents that a row names and that could not be read, with the reason. */
  faults: { file: string; reason: string }[];
  /** By table or by column: why it is not exported. */
  left_out: Record<string, string>;
}

interface Export {
  store: Store;
  team: TeamRow;
  shapes: Shapes;
  paths: readonly TeamPath[];
  folder: string;
  writers: Map<string, LineWriter>;
  manifest: Pick<TeamManifest, 'files' | 'faults'>;
}

/**
 * Writes everything of a team into a folder: rows as JSON lines, one file for each table, and contents as files. A new
 * folder has its name only once it is complete; in an empty one the manifest is written last. Rows are read page by page while the service runs; what changes
 * meanwhile is exported before or after the change.
 */
export async function exportTeam(store: Store, name: string, to: string, version: string): Promise<TeamManifest> {
  const team = await findNamedTeam(store.db, name);
  if (!team) throw notFound(`Team ${JSON.stringify(name)}`);
  const shapes = await loadShapes(store.db);
  const unknown = listUnknownTables([...shapes.values()]);
  if (unknown.length > 0) throw new Error(`nothing is known about the tables ${unknown.join(', ')}`);
  const isMade = !(await isEmptyFolder(to));
  const startedAt = store.clock.now();
  const folder = isMade ? `${to}.part-${process.pid}` : to;
  // Nothing is written before its owner alone can read it.
  if (!isMade) await chmod(folder, 0o700);
  await mkdir(path.join(folder, ROWS), { recursive: true, mode: 0o700 });
  try {
    await mkdir(path.join(folder, FILES), { mode: 0o700 });
    const all = pathsOn(store.db.dialect, [...BILLED_PATHS, ...TEAM_PATHS, ...ALSO_EXPORTED]);
    const paths = all.filter(({ notExported }) => notExported === undefined);
    const manifest = { files: { count: 0, bytes: 0 }, faults: [] };
    const exported: Export = { store, team, shapes, paths, folder, writers: new Map(), manifest };
    for (const one of paths.filter(({ parent }) => parent === undefined)) await exportRows(exported, one, [team.id]);
    const rows: TeamManifest['rows'] = {};
    for (const [table, writer] of exported.writers) rows[`${ROWS}/${table}.ndjson`] = await writer.close();
    const written: TeamManifest = {
      format: FORMAT,
      team: { id: team.id, name: team.name, slug: team.slug },
      started_at: isoTime(startedAt),
      finished_at: isoTime(store.clock.now()),
      version,
      rows,
      ...manifest,
      left_out: listLeftOut(all),
    };
    await writeManifest(folder, written);
    if (isMade) await takeName(folder, to);
    return written;
  } catch (error) {
    const left = isMade ? [folder] : [ROWS, FILES, MANIFEST].map((name) => path.join(folder, name));
    for (const one of left) await rm(one, { recursive: true, force: true });
    throw error;
  }
}

/** Returns false if there is nothing of this name, and refuses anything but an empty folder. */
async function isEmptyFolder(folder: string): Promise<boolean> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return false;
  if (found.isDirectory() && (await readdir(folder)).length === 0) return true;
  throw refuse('validation_error', { status: 422, say: `${folder} is not an empty folder; name a new one.` });
}

/** Gives the complete folder its name. */
async function takeName(folder: string, to: string): Promise<void> {
  await rmdir(to).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await rename(folder, to);
  await chmod(to, 0o700);
  await sync(path.dirname(path.resolve(to)));
}

async function sync(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeManifest(folder: string, manifest: TeamManifest): Promise<void> {
  const handle = await open(path.join(folder, MANIFEST), 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(manifest, undefined, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Says for each table and column that is not exported why. */
function listLeftOut(paths: readonly TeamPath[]): Record<string, string> {
  const tables = paths.flatMap(({ table, notExported }) => (notExported === undefined ? [] : [[table, notExported]]));
  const columns = Object.entries(SECRET_COLUMNS).flatMap(([table, names]) =>
    names.map((column) => [`${table}.${column}`, 'a secret, or what is compared with one']),
  );
  return Object.fromEntries([...tables, ...columns]) as Record<string, string>;
}

/** Exports the rows that these values own, with everything below them. */
async function exportRows(exported: Export, at: TeamPath, values: readonly Value[]): Promise<void> {
  const { store, shapes, paths } = exported;
  const shape = findShape(shapes, at.table);
  // Contents are files of the export, whether the database has them in rows or not.
  if (at.table === 'contents' || at.table === 'content_files') return;
  const below = paths.filter(({ parent }) => parent === at.table);
  const secrets = SECRET_COLUMNS[at.table] ?? [];
  const columns = shape.columns
    .map(({ name }) => name)
    .filter((name) => !secrets.includes(name) || shape.key.includes(name));
  let after: Row | undefined;
  for (;;) {
    const rows = await readOwnedRows(store.db, { path: at, shape, values }, { columns, after, limit: PAGE });
    const writer = findWriter(exported, at.table);
    for (const row of rows) await writer.write(present(shape, row, secrets));
    const groups = READ_TOGETHER.has(at.table) ? [rows] : rows.map((row) => [row]);
    for (const child of below) for (const group of groups) await exportBelow(exported, child, group);
    if (below.some(({ table }) => table === 'content_files')) await exportContents(exported, rows);
    after = rows.at(-1);
    if (rows.length < PAGE) return;
  }
}

async function exportBelow(exported: Export, child: TeamPath, rows: readonly Row[]): Promise<void> {
  const values = rows.map((row) => row[child.from ?? 'id'] ?? null).filter((value) => value !== null);
  if (values.length > 0) await exportRows(exported, child, values);
}

const TIME = /(_at|_until|_since|^since)$/;
/** Every time is after this one, in 1973; smaller numbers count something. */
const TIME_MIN = 100_000_000_000;

function present(shape: TableShape, row: Row, secrets: readonly string[]): object {
  const shown = shape.columns.filter(({ name }) => name in row && !secrets.includes(name));
  return Object.fromEntries(shown.map(({ name, kind }) => [name, presentValue(name, kind, row[name] ?? null)]));
}

function presentValue(name: string, kind: string, value: Value): unknown {
  if (value === null) return null;
  if (kind === 'integer') {
    const number = Number(value);
    return TIME.test(name) && number >= TIME_MIN ? isoTime(number) : number;
  }
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (typeof value === 'string' && (kind === 'json' || JSON_COLUMNS.has(name))) return parseOrKeep(value);
  return value;
}

function parseOrKeep(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function exportContents(exported: Export, rows: readonly Row[]): Promise<void> {
  const { store, manifest } = exported;
  const owners = rows.map((row) => String(row.id));
  const inRows = await contentsInRows(store.db, owners);
  const inFiles = await filesOfOwners(store.db, owners);
  const names = [...inRows, ...inFiles].map(({ owner_id: owner, name }) => ({ owner, name }));
  for (const { owner, name } of names) {
    const file = `${FILES}/${owner}/${name}`;
    try {
      const written = await writeContent(exported, `${owner}/${name}`, path.join(exported.folder, file));
      await findWriter(exported, 'contents').write({ owner_id: owner, name, file, ...written });
      manifest.files.count += 1;
      manifest.files.bytes += written.size;
    } catch (error) {
      if (isOfDisk(error)) throw error;
      await rm(path.join(exported.folder, file), { force: true });
      manifest.faults.push({ file, reason: error instanceof Error ? error.message : String(error) });
    }
  }
}

/** Errors of the target, which end the export. All others are of one content. */
const isOfDisk = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EIO'].includes(String((error as NodeJS.ErrnoException).code));

async function writeContent({ store }: Export, key: string, file: string): Promise<{ size: number; sha256: string }> {
  const opened = await openContent(store, key);
  if (!opened) throw new Error(`the content ${key} is missing`);
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, 'wx', 0o600);
  const hash = createHash('sha256');
  let size = 0;
  try {
    for await (const piece of opened.content as AsyncIterable<Buffer>) {
      hash.update(piece);
      size += piece.length;
      await handle.writeFile(piece);
    }
    await handle.datasync();
  } finally {
    await handle.close();
  }
  return { size, sha256: hash.digest('hex') };
}

interface LineWriter {
  write(value: object): Promise<void>;
  close(): Promise<ExportedFile>;
}

function findWriter({ folder, writers }: Export, table: string): LineWriter {
  const found = writers.get(table) ?? openLines(path.join(folder, ROWS, `${table}.ndjson`));
  writers.set(table, found);
  return found;
}

/** Opens a file of JSON lines. A writer waits while the disk is slower than the database. */
function openLines(file: string): LineWriter {
  const stream = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true });
  const failed = once(stream, 'error').then(([error]) => Promise.reject(error as Error));
  failed.catch(() => undefined);
  const hash = createHash('sha256');
  let rows = 0;
  return {
    async write(value) {
      const line = `${JSON.stringify(value)}\n`;
      hash.update(line);
      rows += 1;
      if (!stream.write(line)) await Promise.race([once(stream, 'drain'), failed]);
    },
    async close() {
      stream.end();
      await Promise.race([once(stream, 'close'), failed]);
      return { rows, bytes: stream.bytesWritten, sha256: hash.digest('hex') };
    },
  };
}
