import type { AnswerOf, BodyOf, components } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Row } from '../../platform/db/index.ts';
import { firstIdAt, timeOfId } from '../../platform/ids.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { isWithheld, listEmailAttachments, loadBodies, type EmailRow } from '../../mail/emails/index.ts';
import { eventsOfSubjects, EVENT_TYPES, type EventType, type RecordedEvent } from '../../mail/events/index.ts';
import { loadReceivedBodies, receivedAttachmentsOf, type ReceivedEmailRow } from '../../mail/received-emails/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findTeam } from '../../tenancy/teams/index.ts';
import {
  beginExport,
  findContact,
  findEngagement,
  getContact,
  listConsentsOfEmail,
  listContactSegments,
  listContactTopics,
  listHistory,
  makeExportPage,
  presentSuppressions,
  type ContactRow,
} from '../audience/index.ts';
import { listRunsOfContact } from '../automations/index.ts';
import { findCommonPart, isAddress } from './address-in-text.ts';
import { isAbout, readTimeline } from './contact-timeline.ts';
import { readAddress } from './erase-address.ts';
import { searchRows } from './erased-mail.store.ts';
import { threadsOfPerson } from './person.store.ts';

type Schemas = components['schemas'];

/** Rows of a page: few enough to be read and written as text in some milliseconds. */
const PAGE = 100;
/** Texts of mail that are in memory at once; a page with more is written in several pieces. */
const BODY_CHARS_MAX = 4 * 1024 * 1024;

/** Pages without a line of their own after which a blank line is written. */
const QUIET_PAGES_MAX = 200;

/** An export that is being read. */
interface PersonExport {
  /** The text of the document, made piece by piece as it is read. */
  pieces: AsyncIterable<string>;
  /** Releases the team's slot for another export. */
  end(): void;
}

interface Exporting {
  ctx: Ctx;
  store: Store;
  teamId: string;
  emailKey: string;
  withBodies: boolean;
  contact: ContactRow | undefined;
}

/** Returns the text of a document with everything that the team has about the person with an address. */
export async function exportPerson(ctx: Ctx, input: BodyOf<'exportPerson'>): Promise<PersonExport> {
  const { store, teamId } = ctx;
  const emailKey = readAddress(input.email);
  const end = beginExport(store.db, teamId);
  try {
    const contact = await findContact(store.db, teamId, { emailKey });
    const exporting = { ctx, store, teamId, emailKey, withBodies: input.with_bodies === true, contact };
    return { pieces: writeDocument(exporting), end };
  } catch (error) {
    end();
    throw error;
  }
}

/** Says what a document leaves out, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  clicked_links:
    'filters know clicked links by hashes alone; the activity and the emails have those of mail that is kept',
  request_logs: 'calls of programs that name the address are removed after some days; rasket logs list finds them',
  audit_log: 'changes by people and programs of the team, which are about them',
  server_log: 'the journal of the server names recipients; only its operator can search it',
  backups: 'copies of this database, which are removed by their age',
};

async function* writeDocument(exporting: Exporting): AsyncIterable<string> {
  const { ctx, store, teamId, emailKey, contact } = exporting;
  const { db } = store;
  const head = await makeExportPage(db, teamId, async () => ({
    object: 'person_export' as const,
    email: emailKey,
    exported_at: isoTime(store.clock.now()),
    team: (await findTeam(db, teamId))?.name ?? '',
    contact: contact ? await getContact(ctx, contact.id).catch(absentContact) : null,
    suppression: (await presentSuppressions(db, teamId, [emailKey])).get(emailKey) ?? null,
    engagement: contact ? await presentEngagement(exporting, contact.id) : null,
  }));
  yield `{\n${Object.entries(head).map(formatField).join(',\n')},\n`;
  yield* writeList(exporting, 'segments', segmentPages(exporting));
  yield* writeList(exporting, 'topics', topicPages(exporting));
  yield* writeList(exporting, 'consents', consentPages(exporting));
  yield* writeList(exporting, 'activity', activityPages(exporting));
  yield* writeList(exporting, 'emails', emailPages(exporting));
  yield* writeList(exporting, 'received_emails', receivedPages(exporting));
  yield* writeList(exporting, 'threads', threadPages(exporting));
  yield* writeList(exporting, 'runs', runPages(exporting));
  yield* writeList(exporting, 'custom_events', eventPages(exporting));
  yield `${formatField(['left_out', LEFT_OUT])},\n${formatField(['complete', true])}\n}\n`;
}

const formatField = ([name, value]: readonly [string, unknown]): string =>
  `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`;

async function presentEngagement(
  { store, teamId }: Exporting,
  contactId: string,
): Promise<Schemas['PersonEngagement']> {
  const { times, events } = await findEngagement(store.db, teamId, contactId);
  const present = (at: number | null): string | null => (at === null ? null : isoTime(at));
  return {
    first_sent_at: present(times.firstSent),
    last_sent_at: present(times.sent),
    last_delivered_at: present(times.delivered),
    last_opened_at: present(times.opened),
    last_clicked_at: present(times.clicked),
    custom_events: events.map(({ name, count, lastAt }) => ({ name, count, last_at: isoTime(lastAt) })),
  };
}

/** The contact was erased while the export ran. */
function absentContact(error: unknown): null {
  if (error instanceof Refusal && error.errorName === 'not_found') return null;
  throw error;
}

/** Reads one page of a list: its items, and the position of the next page; undefined at the end. */
type ReadPage<Item> = (after: string | undefined) => Promise<{ items: Item[]; next: string | undefined }>;

/** Writes a list, page by page: exports of all teams take turns, and rest in between. */
async function* writeList(
  { store, teamId }: Exporting,
  name: keyof AnswerOf<'exportPerson'>,
  read: ReadPage<object>,
): AsyncIterable<string> {
  yield `  ${JSON.stringify(name)}: [`;
  let separator = '\n';
  let pagesWithout = 0;
  let after: string | undefined;
  do {
    const page = await makeExportPage(store.db, teamId, async () => {
      const { items, next } = await read(after);
      return { lines: items.map((item) => `    ${JSON.stringify(item)}`), next };
    });
    for (const line of page.lines) {
      yield separator + line;
      separator = ',\n';
    }
    // Readers give up if nothing arrives for minutes, as while all mail of a large team is searched.
    pagesWithout = page.lines.length > 0 ? 0 : pagesWithout + 1;
    if (pagesWithout % QUIET_PAGES_MAX === QUIET_PAGES_MAX - 1) yield '\n';
    after = page.next;
  } while (after !== undefined);
  yield separator === '\n' ? '],\n' : '\n  ],\n';
}

const NOTHING = { items: [], next: undefined };

/** Reads pages of a list in the order of ids, which has one row more than a page if there is another. */
function pagesOf<Found extends { id: string }, Item>(
  list: (page: { limit: number; after: string | undefined }) => Promise<Found[]>,
  present: (row: Found) => Item,
): ReadPage<Item> {
  return async (after) => {
    const rows = await list({ limit: PAGE, after });
    const shown = rows.slice(0, PAGE);
    return { items: shown.map(present), next: rows.length > PAGE ? shown.at(-1)?.id : undefined };
  };
}

const segmentPages =
  ({ ctx, contact }: Exporting): ReadPage<Schemas['PersonSegment']> =>
  async (after) => {
    if (!contact) return NOTHING;
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const { data, has_more: hasMore } = await listContactSegments(ctx, contact.id, page);
    return { items: data.map(({ id, name }) => ({ id, name })), next: hasMore ? data.at(-1)?.id : undefined };
  };

const topicPages =
  ({ ctx, contact }: Exporting): ReadPage<Schemas['PersonTopic']> =>
  async (after) => {
    if (!contact) return NOTHING;
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const { data, has_more: hasMore } = await listContactTopics(ctx, contact.id, page);
    const items = data.map(({ id, name, subscription }) => ({ id, name, subscription }));
    return { items, next: hasMore ? data.at(-1)?.id : undefined };
  };

const consentPages = ({ store, teamId, emailKey }: Exporting): ReadPage<Schemas['PersonConsent']> =>
  pagesOf(
    ({ limit, after }) => listConsentsOfEmail(store.db, { teamId, emailKey }, { limit, after }),
    ({ created_at: at, ...row }) => ({ ...row, created_at: isoTime(at) }),
  );

const activityPages =
  ({ store, contact }: Exporting): ReadPage<Schemas['ContactActivity']> =>
  async (after) => {
    if (!contact) return NOTHING;
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const { entries, hasMore } = await readTimeline({ store, contact, wants: () => true }, page);
    return { items: entries, next: hasMore ? entries.at(-1)?.id : undefined };
  };

const runPages = ({ store, contact }: Exporting): ReadPage<Schemas['PersonRun']> =>
  pagesOf(
    (page) => (contact ? listRunsOfContact(store.db, contact.id, page) : Promise.resolve([])),
    ({ id, automation_id, status, payload, error, created_at: at, completed_at: endedAt }) => ({
      id,
      automation_id,
      status,
      payload: payload === null ? null : (JSON.parse(payload) as Record<string, unknown>),
      error,
      created_at: isoTime(at),
      completed_at: endedAt === null ? null : isoTime(endedAt),
    }),
  );

const eventPages = ({ store, contact }: Exporting): ReadPage<Schemas['PersonEvent']> =>
  pagesOf(
    (page) => (contact ? listHistory(store.db, contact.id, 'event', page) : Promise.resolve([])),
    ({ id, data: { name, payload } }) => ({
      id,
      name,
      payload: payload as Record<string, unknown> | null,
      created_at: isoTime(timeOfId(id)),
    }),
  );

const threadPages = ({ store, teamId, emailKey }: Exporting): ReadPage<Schemas['PersonThread']> =>
  pagesOf(
    ({ limit, after }) => threadsOfPerson(store.db, { teamId, emailKey }, { limit, after }),
    ({ created_at: at, last_at: lastAt, email_count: count, ...row }) => ({
      ...row,
      email_count: Number(count),
      created_at: isoTime(at),
      last_at: isoTime(lastAt),
    }),
  );

const readList = (list: string | null): string[] => (list === null ? [] : (JSON.parse(list) as string[]));

/** Says for a list of recipients whether the person is in it, and how many others are. */
function countIn(list: string | null, emailKey: string): { isIn: boolean; others: number } {
  const all = readList(list);
  const others = all.filter((one) => !isAddress(one, emailKey)).length;
  return { isIn: others < all.length, others };
}

const emailPages =
  ({ store, teamId, emailKey, withBodies }: Exporting): ReadPage<Schemas['PersonEmail']> =>
  async (after = firstIdAt(0)) => {
    const text = findCommonPart(emailKey);
    const { rows, lastId } = await searchRows(store.db, 'emails', { teamId, afterId: after, text });
    const theirs = (rows as unknown as EmailRow[]).flatMap((row) => {
      const lists = { to: row.to_list, cc: row.cc_list, bcc: row.bcc_list };
      const counted = Object.entries(lists).map(([name, list]) => ({ name, ...countIn(list, emailKey) }));
      const as = counted.filter(({ isIn }) => isIn).map(({ name }) => name as 'to' | 'cc' | 'bcc');
      return as.length === 0 ? [] : [{ row, as, others: counted.reduce((sum, { others }) => sum + others, 0) }];
    });
    const kept = await loadTexts(theirs, withBodies, (some) =>
      loadBodies(
        store,
        store.db,
        some.filter(({ row, others }) => others === 0 && !isWithheld(store, row)).map(({ row }) => row.id),
        BODY_CHARS_MAX,
      ),
    );
    const ids = kept.shown.map(({ row }) => row.id);
    const events = Map.groupBy(await eventsOfSubjects(store.db, ids, MAIL_TYPES), (event) => event.subjectId);
    const files = Map.groupBy(await listEmailAttachments(store.db, ids), (file) => file.email_id);
    const items = kept.shown.map(({ row, as, others }) => ({
      id: row.id,
      created_at: isoTime(row.created_at),
      from: row.sender,
      as,
      other_recipients: others,
      subject: row.subject,
      last_event: row.last_event,
      events: presentEvents(events.get(row.id) ?? [], emailKey, others === 0),
      attachments: (files.get(row.id) ?? []).map(presentFile),
      ...(withBodies && others === 0 ? (kept.texts.get(row.id) ?? NO_TEXT) : {}),
    }));
    return { items, next: kept.lastId ?? lastId };
  };

const NO_TEXT = { html: null, text: null };
const MAIL_TYPES: readonly EventType[] = EVENT_TYPES.filter((type) => type.startsWith('email.'));

/** Loads the texts of as many emails as are in memory at once. `lastId` is the last one shown if some are left. */
async function loadTexts<Theirs extends { row: { id: string } }>(
  theirs: readonly Theirs[],
  withBodies: boolean,
  load: (some: readonly Theirs[]) => Promise<Map<string, { html: string | null; text: string | null }>>,
): Promise<{
  shown: readonly Theirs[];
  texts: Map<string, { html: string | null; text: string | null }>;
  lastId: string | undefined;
}> {
  if (!withBodies) return { shown: theirs, texts: new Map(), lastId: undefined };
  const texts = new Map<string, { html: string | null; text: string | null }>();
  const shown: Theirs[] = [];
  let chars = 0;
  for (const one of theirs) {
    if (chars > BODY_CHARS_MAX) return { shown, texts, lastId: shown.at(-1)?.row.id };
    for (const [id, body] of await load([one])) {
      chars += (body.html?.length ?? 0) + (body.text?.length ?? 0);
      texts.set(id, body);
    }
    shown.push(one);
  }
  return { shown, texts, lastId: undefined };
}

/** Opens and clicks of mail to several recipients cannot be attributed to one of them. */
function presentEvents(
  events: readonly RecordedEvent[],
  emailKey: string,
  isAlone: boolean,
): Schemas['PersonMailEvent'][] {
  return events
    .filter((event) => isAbout(event, emailKey) && (isAlone || !/\.(?:opened|clicked)$/.test(event.type)))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ type, at, data }) => ({
      type,
      created_at: isoTime(at),
      data: isAlone && data !== undefined ? ({ ...data } as Record<string, unknown>) : null,
    }));
}

const presentFile = (file: { filename: string | null; content_type: string; size: number }): Schemas['PersonFile'] => ({
  filename: file.filename,
  content_type: file.content_type,
  size: Number(file.size),
});

const receivedPages =
  ({ store, teamId, emailKey, withBodies }: Exporting): ReadPage<Schemas['PersonReceivedEmail']> =>
  async (after = firstIdAt(0)) => {
    const text = findCommonPart(emailKey);
    const found = await searchRows(store.db, 'received_emails', { teamId, afterId: after, text });
    const theirs = found.rows.flatMap((one: Row) => {
      const row = one as unknown as ReceivedEmailRow;
      const isSender = [row.sender, row.mail_from].some((text) => isAddress(text, emailKey));
      const isRecipient = [row.to_list, row.cc_list, row.bcc_list].some((list) => countIn(list, emailKey).isIn);
      return isSender || isRecipient ? [{ row, isSender }] : [];
    });
    const kept = await loadTexts(theirs, withBodies, (some) =>
      loadReceivedBodies(
        store,
        some.filter(({ row, isSender }) => isSender && row.dropped_reason !== 'account_mail').map(({ row }) => row.id),
        BODY_CHARS_MAX,
      ),
    );
    const ids = kept.shown.map(({ row }) => row.id);
    const files = Map.groupBy(await receivedAttachmentsOf(store.db, ids), (file) => file.received_id);
    const items = kept.shown.map(({ row, isSender }) => {
      const own = (list: string | null): string[] =>
        readList(list).filter((one) => isSender || isAddress(one, emailKey));
      return {
        id: row.id,
        created_at: isoTime(row.created_at),
        is_sender: isSender,
        from: row.sender,
        to: own(row.to_list),
        cc: own(row.cc_list),
        subject: row.subject,
        client_address: isSender ? row.client_address : null,
        attachments: isSender ? (files.get(row.id) ?? []).map(presentFile) : [],
        ...(withBodies && isSender ? (kept.texts.get(row.id) ?? NO_TEXT) : {}),
      };
    });
    return { items, next: kept.lastId ?? found.lastId };
  };
