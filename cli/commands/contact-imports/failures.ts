import type { AnswerOf } from '../../client/index.ts';
import { formatTable, mustBeFree, save, type Column } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { pour } from '../save-download.ts';

type Failures = AnswerOf<'getContactImportFailures'>;

export interface FailuresOptions {
  output?: string;
  force?: boolean;
}

export async function showFailures(session: Session, id: string, options: FailuresOptions): Promise<void> {
  if (options.output !== undefined) return saveFailedRows(session, id, { ...options, output: options.output });
  const { client, terminal, isJson } = session;
  const answer = await client.call('getContactImportFailures', { path: { import_id: id } });
  if (isJson) return terminal.printJson(answer);
  const { data, skipped_values: skipped } = answer;
  if (data.length === 0) terminal.hint('No row failed.');
  else printFailures(session, data);
  if (skipped.length > 0) printSkippedValues(session, skipped);
  if (data.length > 0) {
    session.advise({
      words: 'Save the failed rows, to import them again once they are fixed, with',
      command: ['contacts import-failures', id, '--output', 'failed.csv'],
    });
  }
}

/** Saves the failed rows as a file that can be imported once it is fixed. */
async function saveFailedRows(
  { client, terminal, process, isJson }: Session,
  id: string,
  { output, force = false }: FailuresOptions & { output: string },
): Promise<void> {
  const path = { import_id: id };
  const { counts } = await client.call('getContactImport', { path });
  if (counts.failed === 0) return terminal.hint('No row failed, so nothing was saved.');
  if (output !== '-') await mustBeFree(process, output, force);
  const content = await client.fetchFile('getContactImportFailedRows', {}, path);
  if (output === '-') return pour(content, process.stdout);
  await save(process, content, output, force);
  if (counts.failed > ROWS_MAX) {
    terminal.warn(
      `rasket: ${counts.failed} rows failed, and the file has the first ${ROWS_MAX}. For the others, import the whole file again.`,
    );
  }
  if (isJson) return terminal.printJson({ object: 'contact_import_failed_rows', import_id: id, file: output });
  terminal.print(terminal.isTty ? `Saved  ${JSON.stringify(output)}` : output);
}

/** The number of rows that the server returns at most. */
const ROWS_MAX = 10_000;

type Failure = Failures['data'][number];
type SkippedValue = Failures['skipped_values'][number];

const COLUMNS: readonly Column<Failure>[] = [
  { title: 'ROW', value: ({ row }) => row, fit: 'whole' },
  { title: 'REASON', value: ({ reason }) => reason, fit: 'below' },
  { title: 'VALUE', value: ({ value }) => value, fit: 'name' },
];

const SKIPPED_COLUMNS: readonly Column<SkippedValue>[] = [
  { title: 'ROW', value: ({ row }) => row, fit: 'whole' },
  { title: 'COLUMN', value: ({ name, column }) => name ?? column, fit: 'name' },
  { title: 'IMPORTED WITHOUT', value: ({ value }) => value, fit: 'name' },
  { title: 'REASON', value: ({ reason }) => reason, fit: 'below' },
];

export function printFailures({ terminal }: Session, failures: readonly Failure[]): void {
  terminal.print(formatTable(terminal, failures, COLUMNS));
}

export function printSkippedValues({ terminal }: Session, skipped: readonly SkippedValue[]): void {
  terminal.print(formatTable(terminal, skipped, SKIPPED_COLUMNS));
}
