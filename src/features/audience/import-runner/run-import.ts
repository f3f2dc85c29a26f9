import { stopwatch, nextTurn } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { BulkSize } from '../../../platform/loop-delay.ts';
import type { World } from '../../../platform/world.ts';
import { createLeasedLoop, createTurns, createLeases, type LeasedLoop } from '../../../platform/work-loop/index.ts';
import {
  claimImports,
  oldestWaitingOfEachTeam,
  finishImport,
  updateOptions,
  writeProgress,
  importsWithOldFile,
  type ImportRow,
  type Progress,
  type RowFailure,
} from '../contact-imports/contact-imports.store.ts';
import type { ImportOptions } from '../contact-imports/contact-imports.ts';
import type { PropertyType } from '../../../protocol/contact-filter/index.ts';
import { addDecimalSign, readRow, undefused, type ColumnSign, type ReadRow } from '../../../protocol/csv/index.ts';
import { checkDeclarations, declareFromImport, findDateProperties } from '../contact-properties/contact-properties.ts';
import { declaredProperties, type PropertyRow } from '../contact-properties/contact-properties.store.ts';
import { lockTeam } from '../../../tenancy/access/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { countStarting } from '../../../mail/events/index.ts';
import { openContent } from '../../../mail/contents/index.ts';
import { importRows, ImportRaced, type ImportedRows } from '../contacts/import-rows.ts';
import { liveSegments } from '../segments/segments.store.ts';
import { liveTopics } from '../topics/topics.store.ts';
import { importBlob, removeImportFile } from '../contact-imports/import-files.ts';
import { readRows, UnreadableRow, type FileRow } from './read-rows.ts';
import { isUnconfirmedCopy } from '../../../tenancy/instance/index.ts';

/** Short enough that requests, which take several turns of the event loop, hardly notice the batches between them. */
const BATCH_ROWS = 200;
/** A row begins a run of each automation that starts at it, so that a batch has fewer rows the more automations there are. */
const RUNS_PER_BATCH = 400;
const BATCH_ROWS_MIN = 4;
/** A batch has this many rows at least while the event loop is late, because each costs a commit. */
const LATE_BATCH_ROWS = 20;
/**
 * After this many claims in a row without a written batch, the import fails: its file may be what crashes the process
 * each time.
 */
const TRIES_MAX = 5;
const RACES_MAX = 5;

interface ImportTurn {
  item: ImportRow;
  owner: string;
  signal: AbortSignal;
  /** Reports whether the turn of the import is over: it is then released and continues in its next turn. */
  mustYield(): Promise<boolean>;
  /** The number of rows in a batch, unless those begin many runs. */
  batchRows: BulkSize;
}

/** Thrown if another process has leased the import meanwhile. */
class TakenOver extends Error {}

/** Thrown if the properties of the import cannot be declared any more, because others have been since it was submitted. */
class Undeclarable extends Error {}

/**
 * Reads the file of an import from the row it has reached, until its end, or until the loop stops or its turn is over.
 */
async function runImport(world: World, turn: ImportTurn): Promise<void> {
  const { item, owner } = turn;
  const end = (failure?: RowFailure) =>
    world.db.tx((tx) => finishImport(tx, { id: item.id, owner, at: world.clock.now(), failure }));
  try {
    if (item.tries > TRIES_MAX) {
      await end({
        row: item.rows_read + 1,
        reason: `the file could not be read in ${TRIES_MAX} attempts`,
        value: null,
      });
      return;
    }
    const options = await findDecimalSigns(world, turn);
    const file = options && (await openContent(world, importBlob(item.id)));
    if (!file) {
      await end({ row: item.rows_read + 1, reason: 'the file no longer exists', value: null });
      return;
    }
    if (await readThrough(world, turn, { content: file.content, options })) await end();
  } catch (error) {
    if (error instanceof UnreadableRow) await end({ row: error.row, reason: error.message, value: null });
    else if (error instanceof Undeclarable) {
      await end({ row: item.rows_read + 1, reason: error.message, value: null });
    } else if (!(error instanceof TakenOver)) throw error;
  }
}

/**
 * Reads the columns of number properties once, before the first row is imported, because one value such as `3,5` tells
 * how `1.234` in another row is meant. Returns the options with the result; undefined if the file does not exist.
 */
async function findDecimalSigns(world: World, { item, owner }: ImportTurn): Promise<ImportOptions | undefined> {
  const options = JSON.parse(item.options) as ImportOptions;
  if (options.decimalSigns) return options;
  const types = listTypes(await declaredProperties(world.db, item.team_id), options);
  const numbers = Object.entries(options.columns.properties).filter(([key]) => types.get(key) === 'number');
  const signs: Record<string, ColumnSign> = {};
  // The values of an export have a decimal point.
  if (numbers.length > 0 && !options.columns.isExport) {
    const file = await openContent(world, importBlob(item.id));
    if (!file) return undefined;
    try {
      for await (const rows of readRows(file.content, options, 0)) {
        for (const { cells, fault } of rows) if (!fault) addSigns(signs, cells, numbers);
        await nextTurn();
      }
    } catch (error) {
      // The import ends at this row, after the rows before it.
      if (!(error instanceof UnreadableRow)) throw error;
    } finally {
      file.content.destroy();
    }
  }
  const found = { ...options, decimalSigns: signs };
  const stored = { id: item.id, owner, options: JSON.stringify(found) };
  if (!(await world.db.tx((tx) => updateOptions(tx, stored)))) throw new TakenOver();
  return found;
}

export function addSigns(
  signs: Record<string, ColumnSign>,
  cells: readonly string[],
  numbers: readonly (readonly [key: string, at: number])[],
): void {
  for (const [key, at] of numbers) {
    const sign = addDecimalSign(signs[key], undefused(cells[at] ?? ''));
    if (sign !== undefined) signs[key] = sign;
  }
}

/** Returns the types of all properties of the team, and of those that the import will declare. */
export function listTypes(
  declared: readonly PropertyRow[],
  { wanted }: Pick<ImportOptions, 'wanted'>,
): Map<string, PropertyType> {
  return new Map([
    ...wanted.map(({ key, type = 'string' }) => [key, type] as const),
    ...declared.map(({ key, type }) => [key, type] as const),
  ]);
}

/** Returns the keys of the properties whose dates start automations. */
export async function listDateKeys(
  db: Executor,
  teamId: string,
  declared: readonly PropertyRow[],
): Promise<ReadonlySet<string>> {
  const ids = await findDateProperties.call(db, teamId);
  return new Set(declared.filter(({ id }) => ids.has(id)).map(({ key }) => key));
}

/** Reads and writes batches. Returns whether the end was reached. */
async function readThrough(
  world: World,
  { item, owner, signal, mustYield, batchRows }: ImportTurn,
  { content, options }: { content: Parameters<typeof readRows>[0]; options: ImportOptions },
): Promise<boolean> {
  // Once it has changed a contact, it has declared its properties, and one that somebody deletes is not declared again.
  let hasDeclared = item.created + item.updated > 0;
  const rowsMax = await chooseRowsMax(world, item.team_id, options);
  const read = readRows(content, options, item.rows_read);
  let waiting: FileRow[] = [];
  const write = async (rows: readonly FileRow[]): Promise<void> => {
    hasDeclared = await writeBatch(world, { item, owner, options, rows, hasDeclared });
    await nextTurn();
  };
  try {
    for await (const rows of read) {
      waiting = waiting.length === 0 ? rows : [...waiting, ...rows];
      const chooseSize = (): number => Math.min(rowsMax, batchRows.adjust().current);
      for (let size = chooseSize(); waiting.length >= size; size = chooseSize()) {
        if (signal.aborted) return false;
        await write(waiting.slice(0, size));
        waiting = waiting.slice(size);
        if (await mustYield()) return false;
      }
    }
  } catch (error) {
    // Import the rows before the one that cannot be read.
    if (error instanceof UnreadableRow && waiting.length > 0) await write(waiting);
    throw error;
  } finally {
    content.destroy();
  }
  if (signal.aborted) return false;
  if (waiting.length > 0) await write(waiting);
  return true;
}

async function chooseRowsMax({ db }: World, teamId: string, options: ImportOptions): Promise<number> {
  const automations = options.startAutomations ? await countStarting(db, teamId) : 0;
  return Math.max(BATCH_ROWS_MIN, Math.min(BATCH_ROWS, Math.floor(RUNS_PER_BATCH / Math.max(1, automations))));
}

interface RowBatch {
  item: ImportRow;
  owner: string;
  options: ImportOptions;
  rows: readonly FileRow[];
  /** True if an earlier batch has declared the properties of the import. */
  hasDeclared: boolean;
}

/**
 * Writes a batch and the position after it in one transaction, so that a power failure undoes both or neither. Returns
 * whether the properties of the import are declared now.
 */
async function writeBatch(world: World, batch: RowBatch): Promise<boolean> {
  const { item, owner, options, rows } = batch;
  for (let race = 1; ; race++) {
    try {
      return await world.db.txUnsynced(async (tx) => {
        // Everything that declares properties locks the team first.
        if (!batch.hasDeclared && options.wanted.length > 0) await lockTeam(tx, item.team_id);
        const declared = await declaredProperties(tx, item.team_id);
        if (!batch.hasDeclared) orUndeclarable(() => checkDeclarations(declared, options.wanted));
        const types = listTypes(declared, batch.hasDeclared ? { wanted: [] } : options);
        const sorted = sort(rows, options, { types, dates: await listDateKeys(tx, item.team_id, declared) });
        const alive = await stillThere(tx, item.team_id, options);
        const done = await importRows(world, tx, {
          teamId: item.team_id,
          importId: item.id,
          rows: sorted.good,
          declare: async () => {
            if (batch.hasDeclared) return declared;
            await declareFromImport(world, tx, item.team_id, options.wanted);
            return declaredProperties(tx, item.team_id);
          },
          onConflict: options.on_conflict,
          ...alive,
          startAutomations: options.startAutomations,
        });
        const progress = computeProgress({ item, owner, options, rows, done, ...sorted });
        if (!(await writeProgress(tx, progress))) throw new TakenOver();
        return batch.hasDeclared || done.taken.size > 0;
      });
    } catch (error) {
      if (!(error instanceof ImportRaced) || race >= RACES_MAX) throw error;
    }
  }
}

function orUndeclarable(check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw error instanceof Refusal ? new Undeclarable(error.message) : error;
  }
}

type ImportReading = Pick<ImportOptions, 'columns' | 'isDamaged' | 'on_bad_value' | 'decimalSigns'>;

interface SortedRows {
  good: { row: number; read: ReadRow }[];
  failures: RowFailure[];
}

/** Reads rows by their cells, and separates those that cannot be imported. */
export function sort(
  rows: readonly FileRow[],
  { columns, isDamaged, on_bad_value: onBadValue, decimalSigns = {} }: ImportReading,
  { types, dates }: { types: ReadonlyMap<string, PropertyType>; dates: ReadonlySet<string> },
): SortedRows {
  const good: SortedRows['good'] = [];
  const failures: RowFailure[] = [];
  const table = {
    columns,
    types,
    dates,
    decimalSigns: new Map(Object.entries(decimalSigns)),
    skipsBadValues: onBadValue === 'skip_value',
    isDamaged,
  };
  for (const { row, cells, fault } of rows) {
    const read = fault ?? readRow(cells, table);
    if ('reason' in read) failures.push({ row, ...read });
    else good.push({ row, read });
  }
  return { good, failures };
}

/** Returns the segments and topics of the import that were not deleted meanwhile. */
async function stillThere(
  tx: Parameters<typeof liveSegments>[0],
  teamId: string,
  { segmentIds, topics }: ImportOptions,
) {
  const segments = segmentIds.length === 0 ? [] : await liveSegments(tx, teamId, segmentIds);
  const live = topics.length === 0 ? [] : await liveTopics(tx, teamId);
  const known = new Set(live.map(({ id }) => id));
  return { segmentIds: segments.map(({ id }) => id), topics: topics.filter(({ id }) => known.has(id)) };
}

function computeProgress({
  item,
  owner,
  options,
  rows,
  done,
  good,
  failures,
}: Omit<RowBatch, 'hasDeclared'> & SortedRows & { done: ImportedRows }): Progress {
  const { created, updated, skipped } = done;
  const all = [...failures, ...done.failures].toSorted((a, b) => a.row - b.row);
  const counts = { total: rows.length, created, updated, skipped, failed: all.length };
  const names = new Map(options.imported.map(({ column, name }) => [column, name]));
  const skippedValues = good
    .filter(({ row }) => done.taken.has(row))
    .flatMap(({ row, read }) =>
      (read.skipped ?? []).map((one) => ({ ...one, row, name: names.get(one.column) ?? null })),
    );
  return { id: item.id, owner, rowsRead: rows.at(-1)?.row ?? 0, counts, failures: all, skippedValues };
}

const KEPT_MS = 7 * 24 * 3_600_000;
const BATCH = 100;

/**
 * Removes the file of an import seven days after its end, and the values of its failed rows; counts and reasons remain.
 */
export async function removeImportFiles(world: World): Promise<void> {
  // The original instance uses the same files, so they are removed only once the copy is confirmed.
  if (await isUnconfirmedCopy(world)) return;
  for (;;) {
    const ids = await importsWithOldFile(world.db, world.clock.now() - KEPT_MS, BATCH);
    for (const id of ids) await removeImportFile(world, id);
    if (ids.length < BATCH) return;
  }
}

export type Imports = LeasedLoop;

/**
 * Creates the work loop of imports, woken by the commit that inserts one. It claims each import with a lease and
 * processes it batch by batch from where it stopped, one import per team at a time. Teams take turns: a long import is
 * released for the next team's and continues later.
 */
export function createImportLoop(world: World): Imports {
  const { db, config } = world;
  const { max_at_once: atOnceMax, lease_seconds: leaseSeconds, poll_ms: pollMs } = config.imports;
  const sliceMs = config.imports.slice_seconds * 1000;
  const owner = world.ids.uuid();
  const teams = createTurns();
  const batchRows = new BulkSize({ min: LATE_BATCH_ROWS, max: BATCH_ROWS }, world.loopDelay, () =>
    world.clock.steady(),
  );
  const loop: LeasedLoop<ImportRow> = createLeasedLoop<ImportRow>(world, {
    name: 'imports',
    wakeOn: ['contact_imports'],
    pollMs,
    atOnceMax,
    describe: ({ id }) => ({ importId: id }),
    lease: { owner, ms: leaseSeconds * 1000, leases: createLeases(db, 'contact_imports') },
    async claim({ limit }, lease) {
      const waiting = await oldestWaitingOfEachTeam(db, lease.now);
      const ids = teams.inTurn(waiting, (one) => one.team_id).map(({ id }) => id);
      const items = await claimImports(db, lease, ids.slice(0, limit));
      teams.took(items.map((one) => one.team_id));
      // A team's next import waits for the one in progress.
      return { items, left: items.length + loop.inFlight() > 0 ? 'blocked' : 'nothing' };
    },
    process: (item, signal) =>
      runImport(world, { item, owner, signal, mustYield: createYieldCheck(world, sliceMs), batchRows }),
  });
  return loop;
}

/**
 * Returns a check whether an import has used up its time while another team waits. The time begins at its first batch,
 * so rows that are only skipped do not count.
 */
function createYieldCheck({ db, clock }: World, sliceMs: number): () => Promise<boolean> {
  let elapsedMs: (() => number) | undefined;
  return async () => {
    elapsedMs ??= stopwatch();
    if (elapsedMs() < sliceMs) return false;
    elapsedMs = stopwatch();
    return (await oldestWaitingOfEachTeam(db, clock.now())).length > 0;
  };
}
