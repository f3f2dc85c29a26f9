import { openAsBlob } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { AnswerOf } from '../../client/index.ts';
import { importInWords, previewInWords, type ImportPreview } from '../../families/index.ts';
import { importForm } from '../../input/index.ts';
import { clean, cleanLines, formatTable, type Column } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { prepare, type Call } from '../run-action.ts';
import { progressBar } from '../progress-bar.ts';
import { printFailures, printSkippedValues } from './failures.ts';

type Import = AnswerOf<'getContactImport'>;

const LOOK_MS = 500;
const FAILURES_SHOWN = 20;

export async function runImport(session: Session, call: Call): Promise<void> {
  const { client, terminal, process, isJson } = session;
  const [, body] = await prepare(session, call);
  const form = await importForm(body, process.cwd());
  if (body['dry_run'] === true) {
    const preview = await client.upload('createContactImport', form, { dry_run: 'true' });
    return isJson ? terminal.printJson(preview) : printPreview(session, preview as ImportPreview);
  }
  const { id } = (await client.upload('createContactImport', form)) as { id: string };
  if (call.options['wait'] === false) {
    return isJson ? terminal.printJson({ object: 'contact_import', id }) : terminal.print(id);
  }
  const done = await follow(session, id, await linesIn(path.resolve(process.cwd(), String(body['file']))));
  if (done.status === 'failed' || tookNone(done)) session.fail();
  if (isJson) return terminal.printJson(done);
  const [said = '', ...more] = importInWords(done, '--upsert');
  terminal.print(said);
  for (const line of more) terminal.warn(`rasket: ${cleanLines(line)}`);
  await showFailures(session, done);
}

type PreviewColumn = ImportPreview['columns'][number];

const PREVIEW_COLUMNS: readonly Column<PreviewColumn>[] = [
  { title: 'COLUMN', value: ({ column, name }) => name ?? column, fit: 'name' },
  { title: 'IMPORTED AS', value: ({ field }) => field ?? '-', fit: 'whole' },
  { title: 'TYPE', value: ({ type }) => type, fit: 'whole' },
  { title: 'VALUES', value: ({ values }) => values, fit: 'whole' },
  { title: 'FIT', value: formatShare, fit: 'whole' },
  { title: 'DO NOT FIT', value: ({ misfits }) => misfits.map(formatMisfit).join(', '), fit: 'below' },
];

/** Rounds down, so that a column in which a single value does not fit never shows 100 %. */
function formatShare({ values, fitting }: PreviewColumn): string {
  return values === 0 ? '' : `${Math.floor((fitting / values) * 100)} %`;
}

const formatMisfit = ({ row, value }: PreviewColumn['misfits'][number]): string =>
  `row ${row} ${JSON.stringify(value)}`;

function printPreview(session: Session, preview: ImportPreview): void {
  const { terminal, again } = session;
  terminal.print(formatTable(terminal, preview.columns, PREVIEW_COLUMNS));
  terminal.print(previewInWords(preview));
  if (preview.failures.length > 0) printFailures(session, preview.failures);
  terminal.warn(
    `rasket: Nothing was written. Import the file with: ${clean(again(preview.columns.flatMap(proposeOption)))}`,
  );
}

/** Returns the option that imports a column which would not be imported; none for a column that is. */
function proposeOption({ name, proposal, type }: PreviewColumn): string[] {
  if (proposal === null || name === null) return [];
  const [, key] = /^properties\.(.+)$/.exec(proposal) ?? [];
  if (key === undefined) return ['--column', `${proposal}=${name}`];
  return ['--property', `${key}${type === 'string' ? '' : `:${type}`}=${name}`];
}

/** Reports whether no row was taken: a script that continued would work without contacts. */
const tookNone = ({ counts }: Import): boolean => counts.total > 0 && counts.failed === counts.total;

/** About how many rows there are: cells may hold line ends. */
async function linesIn(file: string): Promise<number> {
  let lines = 0;
  for await (const chunk of (await openAsBlob(file)).stream() as AsyncIterable<Uint8Array>) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  }
  return lines;
}

async function follow({ client, terminal }: Session, id: string, lines: number): Promise<Import> {
  for (;;) {
    const seen = await client.call('getContactImport', { path: { import_id: id } });
    const isOver = seen.status === 'completed' || seen.status === 'failed';
    const note = `${seen.counts.failed} failed`;
    terminal.progress(
      isOver ? '' : progressBar(seen.counts.total, Math.max(lines, seen.counts.total), note, terminal.columns),
    );
    if (isOver) return seen;
    await wait(LOOK_MS);
  }
}

async function showFailures(session: Session, done: Import): Promise<void> {
  const { id, status, counts, skipped_values: skippedValues } = done;
  if (counts.failed === 0 && skippedValues === 0 && status === 'completed') return;
  const answer = await session.client.call('getContactImportFailures', { path: { import_id: id } });
  const { data, skipped_values: skipped } = answer;
  if (data.length > 0) printFailures(session, data.slice(0, FAILURES_SHOWN));
  if (skipped.length > 0) printSkippedValues(session, skipped.slice(0, FAILURES_SHOWN));
  if (Math.max(data.length, skipped.length) > FAILURES_SHOWN) {
    session.advise({ words: 'There are more; list them with', command: ['contacts import-failures', id] });
  }
}
