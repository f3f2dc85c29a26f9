import type { QueryOf } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { mustBeAlone, type Page } from '../../../platform/db/index.ts';
import { invalidField, Refusal } from '../../../platform/refusal.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { declaredProperties } from '../contact-properties/contact-properties.store.ts';
import { loadSegmentFilter, presentSegment } from '../segments/segments.ts';
import { findSegment, type SegmentRow } from '../segments/segments.store.ts';
import { audiencePage } from './audience.store.ts';
import { contactRowsEnding, listContactRows, type ContactRow, type ListedRow } from './contacts.store.ts';
import {
  contactNamed,
  contactOfSegment,
  segmentNamed,
  listSegmentsOfContact,
  presentValues,
  readPropertyValues,
} from './find-contact.ts';
import { eventsOfSubjects, isByMachine } from '../../../mail/events/index.ts';
import type { Store } from '../../../platform/store.ts';
import { normalizeAddress, parseMailbox } from '../../../protocol/address/index.ts';
import { searchEmails, type EmailRow } from '../../../mail/emails/index.ts';
import { listConsents, type ConsentAction } from './consent.store.ts';

export async function getContact(ctx: Ctx, name: string) {
  return presentContact(ctx, await contactNamed(ctx.store.db, ctx.teamId, name));
}

export async function getAudienceContact(ctx: Ctx, segment: string, contact: string) {
  return presentContact(
    ctx,
    await contactOfSegment(ctx.store.db, ctx.teamId, { segment, contact, now: ctx.store.clock.now() }),
  );
}

async function presentContact({ store, teamId }: Ctx, row: ContactRow) {
  const properties = presentValues(readPropertyValues(row), await declaredProperties(store.db, teamId));
  return { object: 'contact' as const, ...present(row), properties };
}

/** Lists contacts. Unlike other lists it has no `has_more`: an empty page is the end. */
export async function listContacts(ctx: Ctx, query: QueryOf<'listContacts'>, page: Page) {
  const { store, teamId } = ctx;
  const { segment_id: segmentId, search, id_end: end } = query;
  if (end !== undefined) {
    mustBeAlone(query);
    return presentList((await contactRowsEnding(store.db, teamId, end, page)).rows);
  }
  if (segmentId === undefined && search === undefined)
    return presentList(await listContactRows(store.db, teamId, page));
  if (segmentId === undefined)
    return presentList(await audiencePage(store.db, teamId, { filter: EVERYBODY, search }, page));
  const segment = await findSegment(store.db, teamId, segmentId);
  if (!segment) throw invalidField('segment_id', 'segment_id does not match a segment of this team.');
  return presentList(await listSegmentMembers(ctx, segment, search, page));
}

const EVERYBODY: Filter = { kind: 'all', of: [] };

export async function listSegmentContacts(
  ctx: Ctx,
  name: string,
  { search }: { search?: string | undefined },
  page: Page,
) {
  const segment = await segmentNamed(ctx.store.db, ctx.teamId, name);
  const found = await listSegmentMembers(ctx, segment, search, { ...page, limit: page.limit + 1 });
  const hasMore = found.length > page.limit;
  // The rows are newest first, so the surplus row of a page backwards is the first one.
  const rows = page.before === undefined ? found.slice(0, page.limit) : found.slice(-page.limit);
  return { ...presentList(rows), has_more: hasMore };
}

async function listSegmentMembers(
  { store, teamId }: Ctx,
  segment: SegmentRow,
  search: string | undefined,
  page: Page,
): Promise<ListedRow[]> {
  const filter = await loadSegmentFilter(store.db, segment, store.clock.now());
  return audiencePage(store.db, teamId, { filter, search }, page);
}

const presentList = (rows: readonly ListedRow[]) => ({ object: 'list' as const, data: rows.map(present) });

const present = ({ id, email, first_name, last_name, created_at, unsubscribed }: ListedRow) => ({
  id,
  email,
  first_name,
  last_name,
  created_at: isoTime(created_at),
  unsubscribed: unsubscribed === 1,
});

/** Lists the segments that a contact is in now; they are few enough to evaluate all. */
export async function listContactSegments({ store, teamId }: Ctx, name: string, page: Page) {
  const contact = await contactNamed(store.db, teamId, name);
  const { items, hasMore } = pageAmong(
    await listSegmentsOfContact(store.db, contact, { now: store.clock.now() }),
    page,
  );
  return { object: 'list' as const, has_more: hasMore, data: items.map(presentSegment) };
}

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

/**
 * Lists the activity of a contact, newest first. All ids contain their time, so entries of different kinds sort by id.
 */
export async function listContactActivity({ store, teamId }: Ctx, name: string, page: Page) {
  const contact = await contactNamed(store.db, teamId, name);
  const emails = await emailsTo(store, teamId, contact.email_key);
  const entries = [
    ...emails.map(emailEntry),
    ...(await loadReadings(store, emails)),
    ...(await loadDecisions(store, contact.id)),
  ].toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const { items, hasMore } = pageAmong(entries, page);
  return { object: 'list' as const, has_more: hasMore, data: items };
}

/** Returns the last emails to an address, found by the search index. */
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

/** A search that reads a hundred thousand emails without a match is refused; here that means that there are none. */
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
  id,
  type: 'email',
  created_at: isoTime(at),
  email_id: id,
  subject,
});

async function loadReadings(store: Store, emails: readonly EmailRow[]): Promise<Entry[]> {
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

async function loadDecisions(store: Store, contactId: string): Promise<Entry[]> {
  const rows = await listConsents(store.db, contactId, EMAILS_MAX);
  return rows.map(({ id, action, topic_id, source, email_id, created_at: at }) => ({
    ...nothing,
    id,
    type: TYPES[action],
    created_at: isoTime(at),
    topic_id,
    source,
    email_id,
  }));
}

/** Returns a page of a complete list, newest first. */
function pageAmong<Item extends { id: string }>(
  items: readonly Item[],
  { limit, after, before }: Page,
): { items: Item[]; hasMore: boolean } {
  if (before !== undefined) {
    const newer = items.filter((item) => item.id > before);
    return { items: newer.slice(-limit), hasMore: newer.length > limit };
  }
  const older = after === undefined ? items : items.filter((item) => item.id < after);
  return { items: older.slice(0, limit), hasMore: older.length > limit };
}
