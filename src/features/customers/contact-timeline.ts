import type { AnswerOf, QueryOf } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import { cutPage, type Page } from '../../platform/db/index.ts';
import { timeOfId } from '../../platform/ids.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { emailRowsByIds, searchEmails, type EmailRow } from '../../mail/emails/index.ts';
import { eventPageOfSubjects, isByMachine, type EventType, type RecordedEvent } from '../../mail/events/index.ts';
import { findSuppressions } from '../../mail/suppressions/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import {
  contactNamed,
  listConfirmations,
  listConsents,
  listHistory,
  toUuid,
  type ConsentAction,
  type ContactRow,
} from '../audience/index.ts';
import { listRunsOfContact, type RunRow } from '../automations/index.ts';
import { isAddress } from './address-in-text.ts';
import { namesOfActors } from './person.store.ts';

type Entry = AnswerOf<'listContactActivity'>['data'][number];
type Kind = Entry['kind'];

/** The contact, and which kinds of entries are wanted. */
interface Asked {
  store: Store;
  contact: ContactRow;
  wants: (kind: Kind) => boolean;
}

/**
 * Lists what happened to a contact, newest first. The id of each entry contains its time, so that entries from
 * different tables sort by id. Each table is read for the page alone, by an index.
 */
export async function listContactActivity(
  { store, teamId }: Ctx,
  name: string,
  { kind }: QueryOf<'listContactActivity'>,
  page: Page,
) {
  const contact = await contactNamed(store.db, teamId, name);
  const kinds = kind === undefined ? undefined : new Set<string>(kind.split(','));
  const { entries, hasMore } = await readTimeline(
    { store, contact, wants: (one) => kinds === undefined || kinds.has(one) },
    page,
  );
  return { object: 'list' as const, has_more: hasMore, data: entries };
}

/** Reads one page of the timeline of a contact. */
export async function readTimeline(asked: Asked, page: Page): Promise<{ entries: Entry[]; hasMore: boolean }> {
  const isBack = page.before !== undefined;
  const all: Draft[] = [];
  for (const read of SOURCES) all.push(...(await read(asked, page)));
  const ordered = all
    .filter(({ id }) => isWithin(id, page))
    .toSorted((a, b) => (a.id < b.id === isBack ? -1 : 1))
    .slice(0, page.limit + 1);
  const { rows, hasMore } = cutPage(ordered, page);
  return { entries: await addNames(asked.store, rows), hasMore };
}

const isWithin = (id: string, { after, before }: Page): boolean =>
  (after === undefined || id < after) && (before === undefined || id > before);

/** An entry before the names of automations, and of those who decided, are known. */
type Draft = Pick<Entry, 'id' | 'kind' | 'type' | 'created_at'> & Partial<Omit<Entry, 'actor'>> & { actor?: ActorRef };

interface ActorRef {
  kind: string;
  id: string | null;
}

/** Returns the entries of a page from one table, in any order. May return more, and entries that are not of the page. */
type Source = (asked: Asked, page: Page) => Promise<Draft[]>;

const SOURCES: readonly Source[] = [
  readEmails,
  readSuppression,
  readLiftedSuppressions,
  readImports,
  readCustomEvents,
  readRuns,
  readDecisions,
  readConfirmations,
  readChanges,
];

/** The kind and type of the entry for each event of an email; opens and clicks by machines have others. */
const MAIL_EVENTS: Readonly<Partial<Record<EventType, { kind: Kind; type: Entry['type'] }>>> = {
  'email.delivered': { kind: 'mail', type: 'email_delivered' },
  'email.delivery_delayed': { kind: 'mail', type: 'email_delayed' },
  'email.failed': { kind: 'mail', type: 'email_failed' },
  'email.suppressed': { kind: 'mail', type: 'email_suppressed' },
  'email.canceled': { kind: 'mail', type: 'email_canceled' },
  'email.bounced': { kind: 'bounce', type: 'email_bounced' },
  'email.complained': { kind: 'complaint', type: 'email_complained' },
  'email.opened': { kind: 'open', type: 'email_opened' },
  'email.clicked': { kind: 'click', type: 'email_clicked' },
};

/** Emails and runs whose later outcomes are looked for. */
const WINDOW = 500;
const EMAILS_AT_ONCE = 100;

async function readEmails({ store, contact, wants }: Asked, page: Page): Promise<Draft[]> {
  const types = (Object.keys(MAIL_EVENTS) as EventType[]).filter((type) => {
    const kind = MAIL_EVENTS[type]?.kind;
    return kind !== undefined && (wants(kind) || (wants('machine') && (kind === 'open' || kind === 'click')));
  });
  if (types.length === 0) return [];
  const emails = await findEmailsAround(store, contact, page);
  const drafts = wants('mail') ? emails.map(draftEmail) : [];
  for (let from = 0; from < emails.length; from += EMAILS_AT_ONCE) {
    const some = new Map(emails.slice(from, from + EMAILS_AT_ONCE).map((email) => [email.id, email]));
    drafts.push(...(await readEventsOf({ store, contact, wants }, some, types, page)));
  }
  return drafts;
}

/** Returns the emails to a contact whose entries may be on a page: those around it, and the last ones before it. */
async function findEmailsAround(
  store: Store,
  { team_id: teamId, email_key: emailKey }: ContactRow,
  { limit, after, before }: Page,
): Promise<EmailRow[]> {
  if (before === undefined) return searchEmailsTo(store, teamId, emailKey, { limit: WINDOW, after });
  const at = (await emailRowsByIds(store.db, [before])).filter(
    (row) => row.team_id === teamId && goesTo(row, emailKey),
  );
  return [
    ...(await searchEmailsTo(store, teamId, emailKey, { limit: limit + 1, before })),
    ...at,
    ...(await searchEmailsTo(store, teamId, emailKey, { limit: WINDOW, after: before })),
  ];
}

/** Finds emails to an address, by the search index. */
async function searchEmailsTo(store: Store, teamId: string, emailKey: string, page: Page): Promise<EmailRow[]> {
  const filter = {
    search: emailKey,
    status: undefined,
    apiKeyId: undefined,
    createdFrom: undefined,
    createdTo: undefined,
  };
  const isBack = page.before !== undefined;
  const found: EmailRow[] = [];
  let edge = page.after ?? page.before;
  do {
    const limit = Math.min(page.limit - found.length, EMAILS_AT_ONCE);
    const some = await searchEmails(store, teamId, filter, {
      limit,
      ...(isBack ? { before: edge } : { after: edge }),
    }).catch(nothingAmongMany);
    found.push(...some.rows.filter((row) => goesTo(row, emailKey)));
    edge = some.hasMore ? some.rows.at(isBack ? 0 : -1)?.id : undefined;
  } while (edge !== undefined && found.length < page.limit);
  return found;
}

/** A search that reads a hundred thousand emails without a match is refused; here that means that there are none. */
function nothingAmongMany(error: unknown): { rows: EmailRow[]; hasMore: boolean } {
  if (error instanceof Refusal) return { rows: [], hasMore: false };
  throw error;
}

const goesTo = ({ to_list: to, cc_list: cc, bcc_list: bcc }: EmailRow, emailKey: string): boolean =>
  [to, cc, bcc]
    .flatMap((list) => (list === null ? [] : (JSON.parse(list) as string[])))
    .some((text) => isAddress(text, emailKey));

const draftEmail = ({ id, subject, created_at: at }: EmailRow): Draft => ({
  id,
  kind: 'mail',
  type: 'email',
  created_at: isoTime(at),
  email_id: id,
  subject,
});

/** Reads the events of some emails until a page is full; those of other recipients are not of the page. */
async function readEventsOf(
  { store, contact, wants }: Asked,
  emails: ReadonlyMap<string, EmailRow>,
  types: readonly EventType[],
  page: Page,
): Promise<Draft[]> {
  const isBack = page.before !== undefined;
  const drafts: Draft[] = [];
  let edge = page.after ?? page.before;
  for (;;) {
    const events = await eventPageOfSubjects(
      store.db,
      { subjectIds: [...emails.keys()], types },
      { limit: page.limit, ...(isBack ? { before: edge } : { after: edge }) },
    );
    for (const event of events) {
      const draft = draftEvent(event, contact.email_key);
      if (draft && wants(draft.kind)) drafts.push({ ...draft, subject: emails.get(event.subjectId)?.subject ?? null });
    }
    edge = events.at(-1)?.id;
    if (events.length <= page.limit || drafts.length > page.limit) return drafts;
  }
}

function draftEvent(event: RecordedEvent, emailKey: string): Draft | undefined {
  const entry = MAIL_EVENTS[event.type];
  if (!entry || !isAbout(event, emailKey)) return undefined;
  const link = event.type === 'email.clicked' ? event.data.click.link : null;
  const shown = isByMachine(event)
    ? ({ kind: 'machine', type: link === null ? 'email_machine_opened' : 'email_machine_clicked' } as const)
    : entry;
  return {
    ...shown,
    id: event.id,
    created_at: isoTime(event.at),
    email_id: event.subjectId,
    link,
    reason: describeReason(event, emailKey),
  };
}

/** Reports whether an event concerns the address; one that names no recipients concerns all. */
export function isAbout({ data }: RecordedEvent, emailKey: string): boolean {
  const to = data !== undefined && 'to' in data ? (data.to as readonly string[] | undefined) : undefined;
  return to === undefined || to.some((text) => isAddress(text, emailKey));
}

function describeReason(event: RecordedEvent, emailKey: string): string | null {
  switch (event.type) {
    case 'email.bounced':
      return `${event.data.bounce.type}: ${event.data.bounce.message}`;
    case 'email.delivery_delayed': {
      const { delayedRecipients } = event.data.delay;
      return delayedRecipients.find((one) => isAddress(one.emailAddress, emailKey))?.diagnosticCode ?? null;
    }
    case 'email.suppressed':
      return event.data.suppressed.message;
    case 'email.failed':
      return event.data.failed.message ?? event.data.failed.reason;
    default:
      return null;
  }
}

async function readSuppression({ store, contact, wants }: Asked): Promise<Draft[]> {
  if (!wants('suppression')) return [];
  const rows = await findSuppressions(store.db, contact.team_id, [contact.email_key]);
  return rows.map(({ id, origin, source_id: emailId, created_at: at }) => ({
    id: toUuid(id),
    kind: 'suppression' as const,
    type: 'suppression_added' as const,
    created_at: isoTime(at),
    email_id: emailId,
    origin,
  }));
}

async function readLiftedSuppressions({ store, contact, wants }: Asked, page: Page): Promise<Draft[]> {
  if (!wants('suppression')) return [];
  const rows = await listHistory(store.db, contact.id, 'suppression', page);
  return rows.map(({ id, data: { is_lifted: isLifted, origin, source_id: emailId } }) => ({
    id,
    kind: 'suppression' as const,
    type: isLifted ? ('suppression_removed' as const) : ('suppression_added' as const),
    created_at: isoTime(timeOfId(id)),
    email_id: emailId,
    origin,
  }));
}

async function readImports({ store, contact, wants }: Asked, page: Page): Promise<Draft[]> {
  if (!wants('import')) return [];
  const rows = await listHistory(store.db, contact.id, 'import', page);
  return rows.map(({ id, data }) => ({
    id,
    kind: 'import' as const,
    type: 'import_updated' as const,
    created_at: isoTime(timeOfId(id)),
    import_id: data.import_id,
  }));
}

async function readCustomEvents({ store, contact, wants }: Asked, page: Page): Promise<Draft[]> {
  if (!wants('event')) return [];
  const rows = await listHistory(store.db, contact.id, 'event', page);
  return rows.map(({ id, data: { name, payload } }) => ({
    id,
    kind: 'event' as const,
    type: 'event_received' as const,
    created_at: isoTime(timeOfId(id)),
    name,
    payload: payload as Record<string, unknown> | null,
  }));
}

async function readRuns({ store, contact, wants }: Asked, { limit, after, before }: Page): Promise<Draft[]> {
  if (!wants('run')) return [];
  const list = (page: Page): Promise<RunRow[]> => listRunsOfContact(store.db, contact.id, page);
  const runs =
    before === undefined
      ? await list({ limit: WINDOW, after })
      : [...(await list({ limit, before })), ...(await list({ limit: WINDOW, after: idAfter(before) }))];
  return runs.flatMap((run) => {
    const { id, automation_id, created_at: at, completed_at: endedAt, error, status } = run;
    const named = { kind: 'run' as const, automation_id, run_id: id };
    const started: Draft = { ...named, id, type: 'run_started', created_at: isoTime(at) };
    if (endedAt === null || status === 'running') return [started];
    const ended = { type: 'run_ended' as const, created_at: isoTime(endedAt), status, reason: error };
    return [started, { ...named, ...ended, id: makeEndId(id, Number(endedAt)) }];
  });
}

/** Returns the next id in the order of ids. */
function idAfter(id: string): string {
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Returns the id of the entry for the end of a run, which has no id of its own: it sorts by the time of the end. */
function makeEndId(runId: string, endedAt: number): string {
  const time = endedAt.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7fff-${runId.slice(19)}`;
}

const DECISIONS: Record<ConsentAction, Entry['type']> = {
  unsubscribed: 'unsubscribed',
  resubscribed: 'resubscribed',
  opt_in: 'topic_opt_in',
  opt_out: 'topic_opt_out',
};

async function readDecisions({ store, contact, wants }: Asked, page: Page): Promise<Draft[]> {
  if (!wants('consent')) return [];
  const rows = await listConsents(store.db, contact.id, page);
  return rows.map(({ id, action, topic_id, source, email_id, created_at: at, actor_kind: by, actor_id: byId }) => ({
    id,
    kind: 'consent' as const,
    type: DECISIONS[action],
    created_at: isoTime(at),
    topic_id,
    source,
    email_id,
    import_id: by === 'import' ? byId : null,
    ...(by === null ? {} : { actor: { kind: by, id: byId } }),
  }));
}

async function readConfirmations({ store, contact, wants }: Asked): Promise<Draft[]> {
  if (!wants('consent')) return [];
  const rows = await listConfirmations(store.db, contact.id);
  return rows.map(({ id, topic_id, fault }) => ({
    id,
    kind: 'consent' as const,
    type: 'confirmation_asked' as const,
    created_at: isoTime(timeOfId(id)),
    topic_id,
    reason: fault,
  }));
}

async function readChanges({ store, contact, wants }: Asked, page: Page): Promise<Draft[]> {
  const { id, created_at: at, import_id } = contact;
  const kind = import_id === null ? 'contact' : 'import';
  const type = import_id === null ? 'contact_created' : 'import_created';
  const drafts: Draft[] = wants(kind) ? [{ id, kind, type, created_at: isoTime(at), import_id }] : [];
  if (!wants('contact')) return drafts;
  const events = await eventPageOfSubjects(store.db, { subjectIds: [id], types: ['contact.updated'] }, page);
  const updates = events.map((event): Draft => {
    return { id: event.id, kind: 'contact', type: 'contact_updated', created_at: isoTime(event.at) };
  });
  return [...drafts, ...updates];
}

/** Completes entries with the names of those who decided and of automations. */
async function addNames(store: Store, drafts: readonly Draft[]): Promise<Entry[]> {
  const actors = drafts.flatMap(({ actor, automation_id: automationId }) => [
    ...(actor ? [actor] : []),
    ...(automationId ? [{ kind: 'automation', id: automationId }] : []),
  ]);
  const names = await namesOfActors(store.db, actors);
  const find = ({ kind, id }: ActorRef): string | null => names.get(`${kind} ${id ?? ''}`) ?? null;
  return drafts.map(({ actor, ...draft }) => ({
    email_id: null,
    subject: null,
    link: null,
    topic_id: null,
    source: null,
    origin: null,
    reason: null,
    import_id: null,
    automation_id: null,
    run_id: null,
    status: null,
    payload: null,
    name: draft.automation_id ? find({ kind: 'automation', id: draft.automation_id }) : null,
    ...draft,
    actor: actor ? ({ ...actor, name: find(actor) } as Entry['actor']) : null,
  }));
}
