import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';
import { connectAsFound } from '../../src/open-store.ts';
import {
  megabytes,
  MoveDone,
  moveDatabase,
  planMove,
  undoMove,
  type Moved,
  type MoveEnd,
  type MoveOrder,
  type MovePlan,
  type MovePhase,
  type MoveWatch,
} from '../../src/features/installation/index.ts';
import { openBlobs } from '../../src/platform/blobs/index.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { parsePostgresUrl } from '../../src/protocol/postgres-url.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { openSecrets } from '../../src/platform/secrets/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { OperatorFault } from '../explain.ts';
import { runAsFolderOwner, findServiceSettings } from '../installation.ts';
import { replaceFile, readIfPresent } from '../setup/plan.ts';
import { settingLine, withSettings, type Edit } from '../setup/settings-text.ts';
import { dataFolder, mustBeInitialised, noteCommand, readSettings, type DataOptions } from './open.ts';

interface Terminal {
  isTTY?: boolean;
  write(text: string): unknown;
}

interface MoveProgress {
  watch: MoveWatch;
  /** The rows of which a character was replaced. */
  replaced(): string[];
  /** Since it began. */
  seconds(): number;
  /** Ends a line that was begun. */
  end(): void;
}

/** How often progress is reported: on one line of a terminal, and as separate lines elsewhere. */
const TTY_MS = 200;
const PLAIN_MS = 10_000;

function createProgress(out: Terminal, now: () => number): MoveProgress {
  const isTTY = out.isTTY === true;
  const startedAt = now();
  const replaced: string[] = [];
  let [phase, rows, done, bytes]: [MovePhase, number, number, number] = ['counting', 0, 0, 0];
  let phaseAt = startedAt;
  let saidAt = 0;
  let isOpen = false;

  function logTable(table: string): void {
    saidAt = now();
    const seconds = (saidAt - phaseAt) / 1000;
    const rate = seconds > 0 ? done / seconds : 0;
    const left = rate > 0 ? Math.ceil((rows - done) / rate) : 0;
    const parts = [`${phase} ${table}`.trim()];
    if (rows > 0) parts.push(`${done.toLocaleString('en')} of ${rows.toLocaleString('en')} rows`);
    if (rate > 0) parts.push(`${Math.round(rate).toLocaleString('en')} a second`);
    if (bytes > 0) parts.push(`${(bytes / 1e6).toFixed(1)} MB`);
    if (rate > 0 && done < rows) parts.push(`${left} s left`);
    const line = parts.join(', ');
    out.write(isTTY ? `\r${line}\u001B[K` : `${line}\n`);
    isOpen = isTTY;
  }

  const end = (): void => {
    if (isOpen) out.write('\n');
    isOpen = false;
  };
  return {
    watch: {
      begin(next, ofRows = 0) {
        end();
        [phase, rows, done, bytes, phaseAt] = [next, ofRows, 0, 0, now()];
        logTable('');
      },
      done(table, more, moreBytes) {
        done += more;
        bytes += moreBytes;
        if (now() - saidAt >= (isTTY ? TTY_MS : PLAIN_MS)) logTable(table);
      },
      replaced: (table, key) => void replaced.push(`${table} ${key}`),
    },
    replaced: () => replaced,
    seconds: () => (now() - startedAt) / 1000,
    end,
  };
}

export interface MoveOptions extends DataOptions {
  to?: string;
  dryRun?: boolean;
  writeConfig?: boolean;
  undo?: boolean;
  json?: boolean;
}

type Target = 'pg' | 'sqlite';

/** Rows a second, copied and compared, of two cores that others use as well, with PostgreSQL on them. */
const ROWS_A_SECOND = 2000;

export async function moveTo(target: Target, options: MoveOptions): Promise<void> {
  const dataDir = dataFolder(options);
  mustBeInitialised(dataDir);
  const { config, file } = readSettings(options);
  const isFromPg = config.database.driver === 'pg';
  if (!options.undo && isFromPg === (target === 'pg')) throw isThere(target);
  const ends = buildEnds(target, { config, dataDir, to: options.to });
  const edits = buildEdits(target, { config, to: ends.to, dataDir });
  const change = options.writeConfig ? settingsChange(options, { file, dataDir, edits }) : undefined;
  const order = { ...ends, dataDir, clock: systemClock };
  if (options.undo) {
    await runAsFolderOwner(dataDir, () => undoMove(order));
    change?.();
    return console.log(
      `${ends.from.says} is in use again, and ${ends.to.says} is an unfinished copy of it. ${change ? `${file} points to ${ends.from.says}` : `Point the settings to ${ends.from.says} (database.driver ${target === 'pg' ? 'better-sqlite3, database.url empty' : 'pg'})`}; start the service.`,
    );
  }
  try {
    await runAsFolderOwner(dataDir, () => work({ ...order, config }, target, options));
  } catch (error) {
    // The move was killed in between, or called without --write-config first: only the settings remain to be changed.
    if (!(error instanceof MoveDone) || options.dryRun || !change) throw error;
    change();
    if (options.json)
      return console.log(JSON.stringify({ from: ends.from.says, to: ends.to.says, was_moved_before: true }));
    return console.log(`The rows are already in ${ends.to.says}. ${file} now points to it.`);
  }
  if (options.dryRun) return;
  change?.();
  if (options.json) return;
  printNext(target, ends, { file, edits, isWritten: change !== undefined });
}

const isThere = (target: Target): OperatorFault =>
  new OperatorFault(
    target === 'pg'
      ? 'the settings already point to PostgreSQL (database.driver); this command moves from SQLite to PostgreSQL'
      : 'the settings already point to SQLite (database.driver); this command moves from PostgreSQL to SQLite',
  );

interface Ends {
  from: MoveEnd;
  to: MoveEnd;
}

function buildEnds(
  target: Target,
  { config, dataDir, to }: { config: Config; dataDir: string; to?: string | undefined },
): Ends {
  const { url, path: file } = config.database;
  const pgUrl = target === 'pg' ? (to ?? url) : url;
  const read = parsePostgresUrl(pgUrl);
  if (!read)
    throw new OperatorFault(
      target === 'pg'
        ? `--to must be postgres://user:password@host/database, or postgres://user@/database?host=/run/postgresql; write / # ? @ : in the password percent-encoded (%2F %23 %3F %40 %3A), or put the password in PGPASSWORD`
        : 'database.url of the settings (RASKET_DATABASE_URL) does not point to PostgreSQL',
    );
  const sqlite = path.resolve(dataDir, (target === 'sqlite' ? to : undefined) ?? file);
  const pg: MoveEnd = { options: { driver: 'pg', url: pgUrl, file: '', poolMax: 2 }, says: read.masked };
  const embedded: MoveEnd = { options: { driver: 'better-sqlite3', url: '', file: sqlite, poolMax: 1 }, says: sqlite };
  return target === 'pg' ? { from: embedded, to: pg } : { from: pg, to: embedded };
}

async function work(
  order: Ends & Pick<MoveOrder, 'dataDir' | 'clock' | 'config'>,
  target: Target,
  options: MoveOptions,
): Promise<void> {
  const { config, dataDir, from, to } = order;
  const progress = createProgress(process.stderr, systemClock.now);
  const whole: MoveOrder = {
    ...order,
    blobs: openBlobs(config.blobs, { dataDir, now: systemClock.now, random: Math.random }),
    secrets: openSecrets(dataDir),
    watch: progress.watch,
    sealed: async () => (await import('../../src/sealed-columns.ts')).SEALED_COLUMNS,
    openTarget: (end) => openTarget(config, dataDir, end),
    conclude: (store) => noteMoved(store, target, { from, to }),
  };
  try {
    if (options.dryRun) return printPlan(await planMove(whole), order, options);
    const moved = await moveDatabase(whole);
    progress.end();
    printMoved(moved, progress.replaced(), { ...order, seconds: progress.seconds() }, options);
  } finally {
    progress.end();
  }
}

function openTarget(config: Config, dataDir: string, { options }: MoveEnd): Promise<Store> {
  const { driver, url, file, poolMax } = options;
  const database = { ...config.database, driver, url, path: file, pool_max: poolMax };
  const log = createLog({ level: 'error', format: 'pretty' });
  return connectAsFound({ config: { ...config, database }, dataDir, log });
}

const noteMoved = (store: Store, target: Target, { from, to }: Ends): Promise<void> =>
  noteCommand(store, {
    action: target === 'pg' ? 'instance.moved_to_postgres' : 'instance.moved_to_sqlite',
    details: { from: from.says, to: to.says },
  });

/** A URL together with the driver of SQLite is refused at the start. */
const ON_SQLITE: readonly Edit[] = [
  { key: 'database.driver', value: 'better-sqlite3' },
  { key: 'database.url', value: '' },
];

/** The settings that lead to the target. */
function buildEdits(target: Target, { config, to, dataDir }: { config: Config; to: MoveEnd; dataDir: string }): Edit[] {
  const { options } = to;
  if (target === 'pg')
    return [
      { key: 'database.driver', value: 'pg' },
      { key: 'database.url', value: options.url },
    ];
  const edits = [...ON_SQLITE];
  const isInside = options.file.startsWith(`${dataDir}${path.sep}`);
  const file = isInside ? path.relative(dataDir, options.file) : options.file;
  if (path.resolve(dataDir, config.database.path) !== options.file) edits.push({ key: 'database.path', value: file });
  return edits;
}

/** Refuses settings that cannot be changed before anything is copied; returns a function that writes them. */
function settingsChange(
  options: MoveOptions,
  { file, dataDir, edits }: { file: string | undefined; dataDir: string; edits: readonly Edit[] },
): () => void {
  if (file === undefined)
    throw new OperatorFault('there is no settings file to change; give one with --config, or omit --write-config');
  const { env } = findServiceSettings(dataDir);
  // The settings name PostgreSQL already when a move away from it is undone.
  const wanted = !options.undo ? edits : edits.some(({ value }) => value === 'pg') ? ON_SQLITE : [];
  for (const { key, value } of wanted) {
    const name = `RASKET_${key.toUpperCase().replaceAll('.', '_')}`;
    if (env[name] !== undefined && env[name] !== value)
      throw new OperatorFault(
        `${name} is set in the environment, which takes precedence over ${file}; change it there, and omit --write-config`,
      );
  }
  accessSync(file, constants.W_OK);
  const hasPassword = wanted.some(
    ({ key, value }) => key === 'database.url' && value !== '' && parsePostgresUrl(String(value))?.masked !== value,
  );
  if (hasPassword && (statSync(file).mode & 0o004) !== 0)
    throw new OperatorFault(
      `every user of the machine may read ${file}, and the address contains a password; restrict it with: chmod o-r ${file}`,
    );
  const { text } = withSettings(readIfPresent(file), wanted, file);
  return () => replaceFile(file, text, dataDir);
}

function printPlan(plan: MovePlan, { from, to }: Ends, options: MoveOptions): void {
  const seconds = Math.ceil(plan.rows / ROWS_A_SECOND);
  const tables = plan.tables.filter(({ rows }) => rows > 0);
  if (options.json) {
    const facts = { from: from.says, to: to.says, rows: plan.rows, bytes: plan.bytes, estimated_seconds: seconds };
    return console.log(JSON.stringify({ ...facts, again: plan.isAgain, tables: plan.tables }));
  }
  for (const { name, rows } of tables) console.log(`${String(rows).padStart(10)}  ${name}`);
  console.log(
    `${plan.rows.toLocaleString('en')} rows, ${megabytes(plan.bytes)}, from ${from.says} to ${to.says}: about ${lasting(seconds)}. ${
      plan.isAgain ? 'An interrupted copy exists and would be made again from the start. ' : ''
    }${to.options.driver === 'pg' ? `The server needs ${megabytes(1.5 * plan.bytes)} of disk space, which cannot be checked from here. ` : ''}Nothing was changed.`,
  );
}

function printMoved(
  { hashes, rows, contents }: Moved,
  replaced: readonly string[],
  { from, to, seconds }: Ends & { seconds: number },
  options: MoveOptions,
): void {
  for (const fault of contents.faults) process.stderr.write(`rasket: warning: ${fault}\n`);
  if (contents.missing > 0)
    process.stderr.write(
      `rasket: warning: ${contents.missing} of ${contents.named} contents that rows refer to are missing; they were missing before, because files are not moved\n`,
    );
  if (replaced.length > 0)
    process.stderr.write(
      `rasket: warning: PostgreSQL cannot store NUL; it was replaced by U+FFFD in ${replaced.length} rows: ${replaced.slice(0, 20).join('; ')}\n`,
    );
  if (options.json) {
    const facts = { from: from.says, to: to.says, rows, seconds, replaced, missing_contents: contents.missing };
    return console.log(JSON.stringify({ ...facts, tables: hashes }));
  }
  console.log(
    `${rows.toLocaleString('en')} rows of ${hashes.length} tables were copied and compared in ${lasting(seconds)}; ${contents.named - contents.missing} contents were found, ${contents.files} of them as files.`,
  );
}

function printNext(
  target: Target,
  { from, to }: Ends,
  { file, edits, isWritten }: { file: string | undefined; edits: readonly Edit[]; isWritten: boolean },
): void {
  if (isWritten) console.log(`${file} now points to the new database.`);
  else {
    console.log(
      `Point the settings${file === undefined ? '' : ` (${file})`} to the new database, then start the service:`,
    );
    for (const edit of edits)
      console.log(
        edit.key === 'database.url'
          ? `  RASKET_DATABASE_URL, or database.url: ${edit.value === '' ? 'empty, and neither of them set' : `the value of --to (${to.says})`}`
          : `  ${edit.key.slice(0, edit.key.lastIndexOf('.'))}: ${settingLine(edit)}`,
      );
  }
  const command = target === 'pg' ? 'migrate-to-postgres' : 'migrate-to-sqlite';
  const later = target === 'pg' ? 'migrate-to-sqlite --to ANOTHER-FILE' : 'migrate-to-postgres --to ANOTHER-DATABASE';
  console.log(
    `${from.says} is kept unchanged, and the service refuses to start on it. Before the service has started on the new one, go back with: rasket ${command} --undo, with the same --to${target === 'pg' ? '' : ' and the settings of PostgreSQL'}. Later, run: rasket ${later}`,
  );
}

function lasting(seconds: number): string {
  if (seconds < 120) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
