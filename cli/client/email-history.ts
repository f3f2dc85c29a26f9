import { ApiFault } from './faults.ts';
import type { Client } from './client.ts';
import type { AnswerOf } from './routes.ts';

export interface EmailHistory {
  email: AnswerOf<'getEmail'>;
  /** The events, oldest first. */
  events: AnswerOf<'listEmailEvents'>['data'];
  /** True if there are earlier events than those in `events`. */
  isCut: boolean;
  /** The tries to deliver it, oldest first. */
  attempts: AnswerOf<'listEmailAttempts'>['data'];
  /** The next steps. */
  pending: AnswerOf<'listEmailAttempts'>['pending'];
  /** Recipients of the email that are suppressed now. */
  suppressed: AnswerOf<'listEmailAttempts'>['suppressed'];
  /** The request that accepted the email, as named in the response and the log of the server. */
  requestId: string | null;
  /** Set for mail that an inbound rule forwarded. */
  forwarded: Forwarded | undefined;
}

export interface Forwarded {
  ruleId: string;
  /** Undefined if the rule was deleted, or this caller may not read it. */
  pattern: string | undefined;
  receivedId: string | undefined;
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
  const tries = await client.call('listEmailAttempts', { path, query: { limit: PAGE } }, signal);
  const { data, pending, suppressed } = tries;
  // An older server omits it.
  const requestId = tries.request_id ?? null;
  const forwarded = await forwardedBy(client, email, signal);
  return {
    email,
    events: events.reverse(),
    isCut,
    attempts: data.toReversed(),
    pending,
    suppressed,
    requestId,
    forwarded,
  };
}

/** The tags that a forward has, and nothing that is sent may have. */
async function forwardedBy(
  client: Client,
  { tags }: EmailHistory['email'],
  signal: AbortSignal | undefined,
): Promise<Forwarded | undefined> {
  const tagged = (name: string): string | undefined => tags?.find((tag) => tag.name === name)?.value;
  const ruleId = tagged('inbound_rule');
  if (ruleId === undefined) return undefined;
  const receivedId = tagged('received_email');
  try {
    const { pattern } = await client.call('getInboundRule', { path: { inbound_rule_id: ruleId } }, signal);
    return { ruleId, pattern, receivedId };
  } catch (error) {
    if (!(error instanceof ApiFault) || (error.status !== 404 && error.status !== 403)) throw error;
    return { ruleId, pattern: undefined, receivedId };
  }
}
