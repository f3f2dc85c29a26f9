import { stopwatch, nextTurn } from '../../../platform/clock.ts';
import { BulkSize } from '../../../platform/loop-delay.ts';
import type { World } from '../../../platform/world.ts';
import { createLeasedLoop, createTurns, createLeases, type LeasedLoop } from '../../../platform/work-loop/index.ts';
import {
  claimImports,
  oldestWaitingOfEachTeam,
  finishImport,
  writeProgress,
  importsWithOldFile,
  noteFileRemoved,
  type ImportRow,
  type Progress,
} from '../contact-imports/contact-imports.store.ts';
import type { ImportOptions } from '../contact-imports/contact-imports.ts';
import type { PropertyType } from '../../../protocol/contact-filter/index.ts';
import { readRow, type ReadRow } from '../../../protocol/csv/index.ts';
import { declaredProperties } from '../contact-properties/contact-properties.store.ts';
import { countStarting } from '../../../mail/events/index.ts';
import { openContent, removeFileRows } from '../../../mail/contents/index.ts';
import { importRows, ImportRaced, type ImportedRows } from '../contacts/import-rows.ts';
import { liveSegments } from '../segments/segments.store.ts';
import { liveTopics } from '../topics/topics.store.ts';
import { importBlob } from './receive-import.ts';
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

/**
 * Reads the file of an import from the row it has reached, until its end, or until the loop stops or its turn is over.
 */
async function runImport(world: World, turn: ImportTurn): Promise<void> {
  const { item, owner } = turn;
  const end = (failure?: Progress['failures'][number]) =>
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
    const file = await openContent(world, importBlob(item.id));
    if (!file) {
      await end({ row: item.rows_read + 1, reason: 'the file no longer exists', value: null });
      return;
    }
    if (await readThrough(world, turn, file.content)) await end();
  } catch (error) {
    if (error instanceof UnreadableRow) await end({ row: error.row, reason: error.message, value: null });
    else if (!(error instanceof TakenOver)) throw error;
  }
}

/** Reads and writes batches. Returns whether the end was reached. */
async function readThrough(
  world: World,
  { item, owner, signal, mustYield, batchRows }: ImportTurn,
  content: Parameters<typeof readRows>[0],
): Promise<boolean> {
  const options = JSON.parse(item.options) as ImportOptions;
  const rowsMax = await chooseRowsMax(world, item.team_id, options);
  const read = readRows(content, options, item.rows_read);
  let waiting: FileRow[] = [];
  const write = async (rows: readonly FileRow[]): Promise<void> => {
    await writeBatch(world, { item, owner, options, rows });
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
  const automations = options.startAutomations === true ? await countStarting(db, teamId) : 0;
  return Math.max(BATCH_ROWS_MIN, Math.min(BATCH_ROWS, Math.floor(RUNS_PER_BATCH / Math.max(1, automations))));
}

interface RowBatch {
  item: ImportRow;
  owner: string;
  options: ImportOptions;
  rows: readonly FileRow[];
}

/** Writes a batch and the position after it in one transaction, so that a power failure undoes both or neither. */
async function writeBatch(world: World, batch: RowBatch): Promise<void> {
  for (let race = 1; ; race++) {
    try {
      await world.db.txUnsynced(async (tx) => {
        const { item, owner, options, rows } = batch;
        const declared = await declaredProperties(tx, item.team_id);
        const types = new Map(declared.map(({ key, type }) => [key, type]));
        const { good, failures } = sort(rows, options, types);
        const alive = await stillThere(tx, item.team_id, options);
        const done = await importRows(world, tx, {
          teamId: item.team_id,
          importId: item.id,
          rows: good,
          declared,
          onConflict: options.on_conflict,
          ...alive,
          startAutomations: options.startAutomations === true,
        });
        if (!(await writeProgress(tx, computeProgress({ item, owner, rows, done, failures })))) throw new TakenOver();
      });
      return;
    } catch (error) {
      if (!(error instanceof ImportRaced) || race >= RACES_MAX) throw error;
    }
  }
}

type Failures = Progress['failures'][number][];

function sort(
  rows: readonly FileRow[],
  { columns, isDamaged }: ImportOptions,
  types: ReadonlyMap<string, PropertyType>,
): { good: { row: number; read: ReadRow }[]; failures: Failures } {
  const good: { row: number; read: ReadRow }[] = [];
  const failures: Failures = [];
  for (const { row, cells, fault } of rows) {
    const read = fault ?? readRow(cells, { columns, types, isDamaged });
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
  rows,
  done,
  failures,
}: Pick<RowBatch, 'item' | 'owner' | 'rows'> & { done: ImportedRows; failures: Failures }): Progress {
  const { created, updated, skipped } = done;
  const all = [...failures, ...done.failures].toSorted((a, b) => a.row - b.row);
  const counts = { total: rows.length, created, updated, skipped, failed: all.length };
  return { id: item.id, owner, rowsRead: rows.at(-1)?.row ?? 0, counts, failures: all };
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
    for (const id of ids) {
      await world.blobs.remove(id);
      await world.db.tx(async (tx) => {
        await removeFileRows(tx, [id]);
        await noteFileRemoved(tx, id, world.clock.now());
      });
    }
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
