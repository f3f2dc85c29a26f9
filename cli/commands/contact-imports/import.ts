import { openAsBlob } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { AnswerOf } from '../../client/index.ts';
import { importInWords } from '../../families/index.ts';
import { importForm } from '../../input/index.ts';
import { cleanLines } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { prepare, type Call } from '../run-action.ts';
import { progressBar } from '../progress-bar.ts';
import { printFailures } from './failures.ts';

type Import = AnswerOf<'getContactImport'>;

const LOOK_MS = 500;
const FAILURES_SHOWN = 20;

export async function runImport(session: Session, call: Call): Promise<void> {
  const { client, terminal, process, isJson } = session;
  const [, body] = await prepare(session, call);
  const form = await importForm(body, process.cwd());
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

async function showFailures(session: Session, { id, status, counts }: Import): Promise<void> {
  if (counts.failed === 0 && status === 'completed') return;
  const { data } = await session.client.call('getContactImportFailures', { path: { import_id: id } });
  printFailures(session, data.slice(0, FAILURES_SHOWN));
  if (data.length > FAILURES_SHOWN) {
    session.advise({ words: 'There are more; list them with', command: ['contacts import-failures', id] });
  }
}
