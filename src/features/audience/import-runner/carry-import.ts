import { nextTurn } from '../../../platform/clock/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { PropertyType } from '../../../protocol/contact-filter/index.ts';
import { readRow, type ReadRow } from '../../../protocol/csv/index.ts';
import {
  finishImport,
  writeProgress,
  type ImportOptions,
  type ImportRow,
  type Progress,
} from '../contact-imports/index.ts';
import { declaredProperties } from '../contact-properties/index.ts';
import { openContent } from '../../../mail/contents/index.ts';
import { importRows, ImportRaced, type ImportedRows } from '../contacts/index.ts';
import { liveSegments } from '../segments/index.ts';
import { liveTopics } from '../topics/index.ts';
import { importBlob } from './import-blob.ts';
import { readRows, UnreadableRow, type FileRow } from './read-rows.ts';

/** Short enough that requests, which take several turns of the loop, hardly notice the batches between them. */
const BATCH_ROWS = 200;
/** After so many claims in a row without a batch written, the import fails: its file may be what ends the process each time. */
const TRIES_MAX = 5;
const RACES_MAX = 5;

interface Carrying {
  item: ImportRow;
  owner: string;
  signal: AbortSignal;
  /** Whether its turn is over: then it is put back, and goes on in its next turn. */
  mustYield(): Promise<boolean>;
}

/** Another process has leased the import meanwhile. */
class TakenOver extends Error {}

/** Reads the file of an import from the row it has reached to its end, or until the loop stops or its turn is over. */
export async function carryImport(world: World, { item, owner, signal, mustYield }: Carrying): Promise<void> {
  const end = (failure?: Progress['failures'][number]) =>
    world.db.tx((tx) => finishImport(tx, { id: item.id, owner, at: world.clock.now(), failure }));
  try {
    if (item.tries > TRIES_MAX) {
      await end({ row: item.rows_read + 1, reason: `the file could not be read in ${TRIES_MAX} tries`, value: null });
      return;
    }
    const file = await openContent(world, importBlob(item.id));
    if (!file) {
      await end({ row: item.rows_read + 1, reason: 'the file is gone', value: null });
      return;
    }
    if (await readThrough(world, { item, owner, signal, mustYield }, file.content)) await end();
  } catch (error) {
    if (error instanceof UnreadableRow) await end({ row: error.row, reason: error.message, value: null });
    else if (!(error instanceof TakenOver)) throw error;
  }
}

/** Answers whether the end was reached. */
async function readThrough(
  world: World,
  { item, owner, signal, mustYield }: Carrying,
  content: Parameters<typeof readRows>[0],
): Promise<boolean> {
  const options = JSON.parse(item.options) as ImportOptions;
  const read = readRows(content, options, item.rows_read);
  let waiting: FileRow[] = [];
  const write = async (rows: readonly FileRow[]): Promise<void> => {
    await writeBatch(world, { item, owner, options, rows });
    await nextTurn();
  };
  try {
    for await (const rows of read) {
      waiting = waiting.length === 0 ? rows : [...waiting, ...rows];
      while (waiting.length >= BATCH_ROWS) {
        if (signal.aborted) return false;
        await write(waiting.slice(0, BATCH_ROWS));
        waiting = waiting.slice(BATCH_ROWS);
        if (await mustYield()) return false;
      }
    }
  } catch (error) {
    // The rows before the one that cannot be read are imported.
    if (error instanceof UnreadableRow && waiting.length > 0) await write(waiting);
    throw error;
  } finally {
    content.destroy();
  }
  if (signal.aborted) return false;
  if (waiting.length > 0) await write(waiting);
  return true;
}

interface RowBatch {
  item: ImportRow;
  owner: string;
  options: ImportOptions;
  rows: readonly FileRow[];
}

/** Writes a batch and the position behind it in one transaction: a power cut takes back both. */
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
          ...{ teamId: item.team_id, rows: good, declared, onConflict: options.on_conflict },
          ...alive,
          startAutomations: options.startAutomations === true,
        });
        if (!(await writeProgress(tx, progressOf({ item, owner, rows, done, failures })))) throw new TakenOver();
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

/** The segments and topics of the import that have not been deleted meanwhile. */
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

function progressOf({
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
