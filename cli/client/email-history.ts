import type { Client } from './client.ts';
import type { AnswerOf } from './routes.ts';

export interface EmailHistory {
  email: AnswerOf<'getEmail'>;
  /** Oldest first. */
  events: AnswerOf<'listEmailEvents'>['data'];
  /** There are earlier ones than `events` has. */
  isCut: boolean;
  /** The tries to deliver it, oldest first. */
  attempts: AnswerOf<'listEmailAttempts'>['data'];
  /** What comes next. */
  pending: AnswerOf<'listEmailAttempts'>['pending'];
}

const PAGE = 100;
/** An email that was opened more often than that has a story too long to read. */
const PAGES_MAX = 10;

/** Everything that is known of the way of one email. */
export async function readHistory(client: Client, id: string, signal?: AbortSignal): Promise<EmailHistory> {
  const path = { email_id: id };
  const email = await client.call('getEmail', { path }, signal);
  const events: EmailHistory['events'] = [];
  let after: string | undefined;
  let isCut = true;
  for (let pages = 0; pages < PAGES_MAX && isCut; pages++) {
    const page = await client.call('listEmailEvents', { path, query: { limit: PAGE, after } }, signal);
    events.push(...page.data);
    after = page.data.at(-1)?.id;
    isCut = page.has_more;
  }
  const { data, pending } = await client.call('listEmailAttempts', { path, query: { limit: PAGE } }, signal);
  return { email, events: events.reverse(), isCut, attempts: data.toReversed(), pending };
}
