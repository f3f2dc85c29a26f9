import type { AnswerOf, CallOf } from '../../client/index.ts';
import { retriesInWords } from '../../families/automation-words.ts';
import { cleanLines } from '../../output/index.ts';
import { prepare, type Call } from '../run-action.ts';
import type { Session } from '../session.ts';

type Page = AnswerOf<'retryAutomationRuns'>;

/** Continues the runs that failed at a step, page by page. */
export async function runRetryFailed(session: Session, call: Call): Promise<void> {
  const { client, terminal, isJson } = session;
  const [path, body] = await prepare(session, call);
  const refused: Page['refused'] = [];
  let continued = 0;
  let after: string | null | undefined;
  do {
    const page = { path, body: after === undefined ? body : { ...body, after } };
    const answer = await client.call('retryAutomationRuns', page as CallOf<'retryAutomationRuns'>);
    continued += answer.continued;
    refused.push(...answer.refused);
    after = answer.next;
    terminal.progress(`${continued} continued, ${refused.length} not`);
  } while (after !== null);
  terminal.progress('');
  const all = { continued, refused, next: null };
  if (isJson) terminal.printJson({ object: 'automation_retry', ...all });
  else terminal.printText(cleanLines(retriesInWords(all)));
  if (refused.length > 0) session.fail();
}
