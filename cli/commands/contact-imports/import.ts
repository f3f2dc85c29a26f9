import { openAsBlob } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { AnswerOf } from '../../client/index.ts';
import { importInWords } from '../../families/index.ts';
import { cleanLines, mustBeReadable, readColumns, readTopics } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { progressBar } from '../webhooks/progress-bar.ts';
import { printFailures } from './failures.ts';

export interface ImportOptions {
  column?: string[];
  property?: string[];
  upsert?: boolean;
  segment?: string[];
  topic?: string[];
  wait?: boolean;
}

type Import = AnswerOf<'getContactImport'>;

const LOOK_MS = 500;
const FAILURES_SHOWN = 20;

export async function runImport(session: Session, file: string, options: ImportOptions): Promise<void> {
  const { client, terminal, process, isJson } = session;
  await mustBeReadable(file, process.cwd());
  const at = path.resolve(process.cwd(), file);
  const { id } = (await client.upload('createContactImport', await formOf(at, options))) as { id: string };
  if (options.wait === false) {
    return isJson ? terminal.printJson({ object: 'contact_import', id }) : terminal.print(id);
  }
  const done = await follow(session, id, await linesIn(at));
  if (done.status === 'failed' || tookNone(done)) session.fail();
  if (isJson) return terminal.printJson(done);
  const [said = '', ...more] = importInWords(done, '--upsert');
  terminal.print(said);
  for (const line of more) terminal.warn(`rasket: ${cleanLines(line)}`);
  await tellFailures(session, done);
}

/** A script that goes on would go on with nobody. */
const tookNone = ({ counts }: Import): boolean => counts.total > 0 && counts.failed === counts.total;

async function formOf(file: string, options: ImportOptions): Promise<FormData> {
  const { column, property, upsert, segment, topic } = options;
  const form = new FormData();
  const put = (name: string, value: unknown): void => form.append(name, JSON.stringify(value));
  // Before the file, so that what is wrong with them is said before it is sent.
  if (column ?? property) put('column_map', readColumns(column ?? [], property ?? []));
  if (upsert) form.append('on_conflict', 'upsert');
  if (segment)
    put(
      'segments',
      segment.map((id) => ({ id })),
    );
  if (topic) put('topics', readTopics(topic));
  form.append('file', await openAsBlob(file), 'contacts.csv');
  return form;
}

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

async function tellFailures(session: Session, { id, status, counts }: Import): Promise<void> {
  if (counts.failed === 0 && status === 'completed') return;
  const { data } = await session.client.call('getContactImportFailures', { path: { import_id: id } });
  printFailures(session, data.slice(0, FAILURES_SHOWN));
  if (data.length > FAILURES_SHOWN) {
    session.terminal.hint(`There are more; see them with: rasket contacts import-failures ${id}`);
  }
}
