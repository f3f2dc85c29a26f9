import { isoTime, nextTurn } from '../../platform/clock/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Filter } from '../../protocol/contact-filter/index.ts';
import { defused, quoted } from '../../protocol/csv/index.ts';
import type { Ctx } from '../access/index.ts';
import { declaredProperties, type PropertyRow } from '../contact-properties/index.ts';
import { declaredFor, filterOf, findSegment } from '../segments/index.ts';
import { audienceRows } from './audience.store.ts';
import { mayBeginPieces } from './piece-turns.ts';
import type { ContactRow } from './contacts.store.ts';
import { presentValues, valuesOf } from './property-values.ts';

export type ExportFormat = 'csv' | 'ndjson';

const PAGE = 500;
const EVERYBODY: Filter = { kind: 'all', of: [] };

/** The text of a file with all contacts, or those of a segment, made page by page as it is read. */
export async function exportContacts(
  { store, teamId }: Ctx,
  { format, segmentId }: { format: ExportFormat; segmentId: string | undefined },
): Promise<AsyncIterable<string>> {
  mayBeginPieces(store.db, teamId);
  const segment = segmentId === undefined ? undefined : await findSegment(store.db, teamId, segmentId);
  if (segmentId !== undefined && !segment) {
    throw refuse('invalid_parameter', { say: 'segment_id names no segment of this team.' });
  }
  const filter = segment ? await filterOf(store.db, segment, await declaredFor(store.db, teamId)) : EVERYBODY;
  const declared = await declaredProperties(store.db, teamId);
  const lineOf = format === 'csv' ? csvLine : jsonLine;
  return (async function* lines() {
    if (format === 'csv') yield csvRow([...OWN_COLUMNS, ...declared.map(({ key }) => key)]);
    for (let after: string | undefined; ;) {
      const rows: ContactRow[] = await audienceRows(store.db, teamId, filter, { limit: PAGE, after }, 'c.*');
      if (rows.length > 0) yield rows.map((row) => lineOf(row, declared)).join('');
      after = rows.at(-1)?.id;
      if (after === undefined || rows.length < PAGE) return;
      await nextTurn();
    }
  })();
}

const OWN_COLUMNS = ['email', 'first_name', 'last_name', 'unsubscribed'];

/** RFC 4180, with its line ends. */
const csvRow = (cells: readonly string[]): string => `${cells.map(quoted).join(',')}\r\n`;

function csvLine(row: ContactRow, declared: readonly PropertyRow[]): string {
  const values = valuesOf(row);
  const cells = declared.map(({ slot }) => {
    const value = values[slot];
    return typeof value === 'string' ? defused(value) : String(value ?? '');
  });
  const names = [row.first_name ?? '', row.last_name ?? ''].map(defused);
  return csvRow([defused(row.email), ...names, String(row.unsubscribed === 1), ...cells]);
}

function jsonLine(row: ContactRow, declared: readonly PropertyRow[]): string {
  const { id, email, first_name, last_name } = row;
  const properties = presentValues(valuesOf(row), declared);
  const own = {
    id,
    email,
    first_name,
    last_name,
    created_at: isoTime(row.created_at),
    unsubscribed: row.unsubscribed === 1,
  };
  return `${JSON.stringify({ ...own, properties })}\n`;
}
