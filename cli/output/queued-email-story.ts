import type { AnswerOf } from '../client/index.ts';
import { bytesInWords } from '../families/bytes-in-words.ts';
import { subjectOf } from '../families/queue.ts';
import { tellHistory } from './email-story.ts';
import type { Terminal } from './terminal.ts';

/** An operator cannot act for the team: nothing is advised that takes a key of it. */
export function tellQueuedEmail(
  terminal: Terminal,
  email: AnswerOf<'getQueuedEmail'>,
  withTranscript: boolean,
): string[] {
  const { events, attempts, pending, is_cut: isCut, team, size, request_id: requestId } = email;
  const subject = email.subject === null ? `(subject ${subjectOf(email) || 'not shown'})` : email.subject;
  const story = { events: events.toReversed(), attempts: attempts.toReversed(), pending, isCut, requestId };
  const history = { email: { ...email, subject }, ...story, suppressed: undefined, forwarded: undefined };
  const [heading = '', ...told] = tellHistory(terminal, history, { withTranscript, say: () => undefined });
  return [
    `${heading.trimEnd()}\nteam ${team}, ${bytesInWords(size)}\n`,
    ...(isCut ? ['Earlier events and tries are left out.'] : []),
    ...told,
  ];
}
