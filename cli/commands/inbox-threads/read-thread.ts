import type { Client } from '../../client/index.ts';
import { answeringInWords, inboxThreads, pausedInWords, stateOfThread } from '../../families/index.ts';
import { readPath } from '../../input/find-id.ts';
import { formatEmailBody, clean, cleanLines, formatEmailHead, type ThreadEmail } from '../../output/index.ts';
import type { Session } from '../declare.ts';

const PAGE = 100;

export interface ThreadPath {
  inbox: string;
  thread_id: string;
}

/** All emails of a thread, the newest first. */
export async function* fetchThreadEmails(client: Client, path: ThreadPath): AsyncGenerator<ThreadEmail> {
  let after: string | undefined;
  do {
    const page = await client.call('listInboxThreadEmails', { path, query: { limit: PAGE, ...(after && { after }) } });
    yield* page.data;
    after = page.has_more ? page.data.at(-1)?.id : undefined;
  } while (after !== undefined);
}

/** Indents a text, so that no line of it looks like the head of another email. */
const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');

export async function readThread(
  session: Session,
  words: readonly (string | undefined)[],
  { markRead = false }: { markRead?: boolean },
): Promise<void> {
  const { client, terminal, isJson } = session;
  const { inbox = '', thread_id = '' } = await readPath(client, inboxThreads.get.path, words, true);
  const path = { inbox, thread_id };
  const head = await client.call('getInboxThread', { path });
  const emails: ThreadEmail[] = [];
  for await (const email of fetchThreadEmails(client, path)) emails.unshift(email);
  if (isJson) for (const email of emails) terminal.printJson(email);
  else {
    const { subject, labels, assignee, notes } = head;
    const known = [
      stateOfThread(head),
      ...labels.map(({ name }) => `[${name}]`),
      assignee === null ? '' : `for ${assignee}`,
      answeringInWords(head),
    ];
    terminal.print(terminal.paint('bold', clean(subject ?? '(no subject)')));
    terminal.print(clean(known.filter(Boolean).join('  ')));
    if (head.answers_paused) terminal.print(`Programs: ${clean(pausedInWords(head))}`);
    if (notes !== null) terminal.print(`Note: ${cleanLines(notes)}`);
    for (const email of emails)
      terminal.print(
        ['', '-'.repeat(60), ...formatEmailHead(terminal, email), '', indented(formatEmailBody(email))].join('\n'),
      );
  }
  if (markRead) await client.call('updateInboxThread', { path, body: { read: true } });
  session.advise({ words: 'Reply with', command: ['replyToInboxEmail', inbox, thread_id] });
}
