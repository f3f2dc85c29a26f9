import { refuse } from '../../../platform/refusal.ts';
import { openContent } from '../../../mail/contents/index.ts';
import { defused, FAILURE_COLUMNS, undefused } from '../../../protocol/csv/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { importNamed, type ImportOptions } from '../contact-imports/contact-imports.ts';
import { listKeptFailures, type RowFailure } from '../contact-imports/contact-imports.store.ts';
import { beginExport, csvRow, type ContactExport } from '../contacts/export-contacts.ts';
import { importBlob } from '../contact-imports/import-files.ts';
import { readRowsAndHeader, UnreadableRow, type FileRow } from './read-rows.ts';

/**
 * Returns the text of a file with the failed rows of an import, as they are in the file that was uploaded, and after
 * their cells the number of each row and the reason. Refuses once that file is deleted.
 */
export async function exportFailedRows(ctx: Ctx, importId: string): Promise<ContactExport> {
  const { store, teamId } = ctx;
  const row = await importNamed(ctx, importId);
  const options = JSON.parse(row.options) as ImportOptions;
  const end = beginExport(store.db, teamId);
  try {
    const failures = await listKeptFailures(store.db, row.id);
    const file = row.file_removed_at === null ? await openContent(store, importBlob(row.id)) : undefined;
    if (!file) throw fileGone(row.id);
    return { lines: makeLines(file.content, options, failures), end };
  } catch (error) {
    end();
    throw error;
  }
}

const fileGone = (id: string) =>
  refuse('not_found', {
    say: `The file of this import is deleted, which happens seven days after its end, so its rows cannot be returned any more. GET /contacts/imports/${id}/failures still has the numbers of the rows and the reasons.`,
  });

async function* makeLines(
  content: Parameters<typeof readRowsAndHeader>[0],
  options: ImportOptions,
  failures: readonly RowFailure[],
): AsyncGenerator<string> {
  const left = new Map(failures.map((failure) => [failure.row, failure]));
  let isHeader = true;
  try {
    for await (const rows of readRowsAndHeader(content, options)) {
      const lines: string[] = [];
      for (const row of rows) {
        const failure = left.get(row.row);
        if (isHeader) lines.push(csvRow([...row.cells.map(toSafe), ...FAILURE_COLUMNS]));
        else if (failure) lines.push(formatRow(row, options, failure));
        if (!isHeader) left.delete(row.row);
        isHeader = false;
      }
      if (lines.length > 0) yield lines.join('');
      if (!isHeader && left.size === 0) return;
    }
  } catch (error) {
    // The import ended at this row, whose reason follows.
    if (!(error instanceof UnreadableRow)) throw error;
  } finally {
    content.destroy();
  }
  yield [...left.values()].map((failure) => formatRow(undefined, options, failure)).join('');
}

/** Formats a failed row; a row that could not be read has only its number and the reason. */
function formatRow(row: FileRow | undefined, options: ImportOptions, { row: number, reason }: RowFailure): string {
  const { width } = options.columns;
  const cells = row ? listCells(row, options) : [];
  const own = Array.from({ length: width }, (_, at) => toSafe(cells[at] ?? ''));
  // Cells beyond the columns of the file remain beyond all columns, so that an import of the row fails until it is fixed.
  return csvRow([...own, String(number), defused(reason), ...cells.slice(width).map(toSafe)]);
}

/**
 * Returns the cells of a row. If they cannot be separated, the whole text stands in place of the address: the row fails
 * again until it is fixed, and no part of it becomes a value.
 */
function listCells({ cells, fault }: FileRow, { columns, delimiter }: ImportOptions): string[] {
  if (!fault) return cells;
  const whole: string[] = [];
  whole[columns.email] = cells.join(delimiter);
  return Array.from(whole, (cell) => cell ?? '');
}

/** Returns a cell as a spreadsheet may show it. The import reads it as it has read the original. */
const toSafe = (cell: string): string => (cell === '' ? '' : defused(undefused(cell)));
