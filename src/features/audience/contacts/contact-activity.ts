import { eventsOfSubjects, isByMachine } from '../../../mail/events/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import { Refusal } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { normalizeAddress, parseMailbox } from '../../../protocol/address/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { searchEmails, type EmailRow } from '../../../mail/emails/index.ts';
import { consentsOf, type ConsentAction } from './consent.store.ts';
import { contactNamed } from './find-contact.ts';
import { pageAmong } from './page-among.ts';

interface Entry {
  id: string;
  type: 'email' | 'email_opened' | 'email_clicked' | 'topic_opt_in' | 'topic_opt_out' | 'unsubscribed' | 'resubscribed';
  created_at: string;
  email_id: string | null;
  subject: string | null;
  link: string | null;
  topic_id: string | null;
  source: string | null;
}

const EMAILS_MAX = 500;
const PAGE = 100;

/** What happened with a contact, newest first: ids carry their time, whatever they are the ids of. */
export async function listContactActivity({ store, teamId }: Ctx, name: string, page: Page) {
  const contact = await contactNamed(store.db, teamId, name);
  const emails = await emailsTo(store, teamId, contact.email_key);
  const entries = [
    ...emails.map(emailEntry),
    ...(await readingsOf(store, emails)),
    ...(await decisionsOf(store, contact.id)),
  ].toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const { items, hasMore } = pageAmong(entries, page);
  return { object: 'list' as const, has_more: hasMore, data: items };
}

/** The last emails to an address, found by the index of searches. */
async function emailsTo(store: Store, teamId: string, emailKey: string): Promise<EmailRow[]> {
  const found: EmailRow[] = [];
  let after: string | undefined;
  do {
    const filter = {
      search: emailKey,
      status: undefined,
      apiKeyId: undefined,
      createdFrom: undefined,
      createdTo: undefined,
    };
    const page = await searchEmails(store, teamId, filter, { limit: PAGE, after }).catch(nothingAmongMany);
    found.push(...page.rows.filter((row) => goesTo(row, emailKey)));
    after = page.hasMore ? page.rows.at(-1)?.id : undefined;
  } while (after !== undefined && found.length < EMAILS_MAX);
  return found.slice(0, EMAILS_MAX);
}

/** A search that looked at a hundred thousand emails in vain is refused; here that is an answer. */
function nothingAmongMany(error: unknown): { rows: EmailRow[]; hasMore: boolean } {
  if (error instanceof Refusal) return { rows: [], hasMore: false };
  throw error;
}

function goesTo({ to_list: to, cc_list: cc, bcc_list: bcc }: EmailRow, emailKey: string): boolean {
  const all = [to, cc, bcc].flatMap((list) => (list === null ? [] : (JSON.parse(list) as string[])));
  return all.some((text) => {
    const parsed = parseMailbox(text);
    return parsed.ok && normalizeAddress(parsed.mailbox.address) === emailKey;
  });
}

const nothing = { email_id: null, subject: null, link: null, topic_id: null, source: null };

const emailEntry = ({ id, subject, created_at: at }: EmailRow): Entry => ({
  ...nothing,
  ...{ id, type: 'email', created_at: isoTime(at), email_id: id, subject },
});

async function readingsOf(store: Store, emails: readonly EmailRow[]): Promise<Entry[]> {
  const subjects = new Map(emails.map(({ id, subject }) => [id, subject]));
  const events = await eventsOfSubjects(store.db, [...subjects.keys()], ['email.opened', 'email.clicked']);
  const byPeople = events.filter((event) => !isByMachine(event));
  return byPeople.map((event): Entry => {
    const { id, at, subjectId } = event;
    const base = {
      ...nothing,
      id,
      created_at: isoTime(at),
      email_id: subjectId,
      subject: subjects.get(subjectId) ?? null,
    };
    if (event.type === 'email.clicked') return { ...base, type: 'email_clicked', link: event.data.click.link };
    return { ...base, type: 'email_opened' };
  });
}

const TYPES: Record<ConsentAction, Entry['type']> = {
  unsubscribed: 'unsubscribed',
  resubscribed: 'resubscribed',
  opt_in: 'topic_opt_in',
  opt_out: 'topic_opt_out',
};

async function decisionsOf(store: Store, contactId: string): Promise<Entry[]> {
  const rows = await consentsOf(store.db, contactId, EMAILS_MAX);
  return rows.map(({ id, action, topic_id, source, email_id, created_at: at }) => ({
    ...nothing,
    ...{ id, type: TYPES[action], created_at: isoTime(at), topic_id, source, email_id },
  }));
}
