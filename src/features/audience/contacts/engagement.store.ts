import { isByMachine } from '../../../mail/events/index.ts';
import type { EmailEvent } from '../../../mail/emails/index.ts';
import { textsIn, uuidsIn, type Dialect, type Executor } from '../../../platform/db/index.ts';
import {
  ENGAGEMENTS,
  hashPlainLink,
  type EngagementKind,
  type FilteredContact,
  type NeededFacts,
  type SeenRecipient,
} from '../../../protocol/contact-filter/index.ts';

/**
 * Begins the engagement of contacts that mail is about to be accepted for. A contact that is erased at the same time
 * gets no row. Must run before the accept, which locks the usage of the team.
 */
export async function beginEngagement(tx: Executor, teamId: string, contactIds: readonly string[]): Promise<void> {
  if (contactIds.length === 0) return;
  const among = uuidsIn(tx.dialect, 'c.id', contactIds);
  const hold = tx.dialect === 'pg' ? ' for key share of c' : '';
  await tx.run(
    `insert into contact_engagement (team_id, contact_id)
      select c.team_id, c.id from contacts c where c.team_id = ? and ${among.sql} and not exists (
        select 1 from contact_engagement e where e.team_id = c.team_id and e.contact_id = c.id)
      order by c.id${hold} on conflict (team_id, contact_id) do nothing`,
    [teamId, among.value],
  );
}

const DAY_MS = 86_400_000;

/** The largest number of marketing emails for a contact within a number of days. */
interface MarketingCap {
  emails: number;
  days: number;
}

type CappedRow = { contact_id: string; marketing_times: string | null };

/** Returns the moments of the marketing emails that count towards the limit. */
function listCounted({ marketing_times: times }: CappedRow, { days }: MarketingCap, now: number): number[] {
  return (JSON.parse(times ?? '[]') as number[]).filter((at) => at > now - days * DAY_MS);
}

function loadCappedRows(
  db: Executor,
  { teamId, contactIds }: { teamId: string; contactIds: readonly string[] },
  isLocking: boolean,
): Promise<CappedRow[]> {
  const among = uuidsIn(db.dialect, 'contact_id', contactIds);
  const lock = isLocking && db.dialect === 'pg' ? ' for update' : '';
  const sql = `select contact_id, marketing_times from contact_engagement
    where team_id = ? and ${among.sql} order by contact_id${lock}`;
  return db.all<CappedRow>(sql, [teamId, among.value]);
}

/** Returns those of the contacts that get no more marketing mail now. */
export async function findContactsAtCap(
  db: Executor,
  { teamId, contactIds, cap }: { teamId: string; contactIds: readonly string[]; cap: MarketingCap },
  now: number,
): Promise<Set<string>> {
  const rows = await loadCappedRows(db, { teamId, contactIds }, false);
  const full = rows.filter((row) => listCounted(row, cap, now).length >= cap.emails);
  return new Set(full.map((row) => row.contact_id));
}

/** Renders the condition that the contact `c` gets no more marketing mail now. */
export function renderAtCap(
  dialect: Dialect,
  cap: MarketingCap,
  now: number,
): { sql: string; values: (string | number)[] } {
  const times =
    dialect === 'pg'
      ? 'jsonb_array_elements_text(m.marketing_times::jsonb) as t(at) where t.at::bigint > ?'
      : 'json_each(m.marketing_times) as t where t.value > ?';
  const sql = `exists (select 1 from contact_engagement m where m.team_id = c.team_id and m.contact_id = c.id
    and (select count(*) from ${times}) >= ?)`;
  return { sql, values: [now - cap.days * DAY_MS, cap.emails] };
}

/**
 * Counts a marketing email for each of these contacts, in the transaction that accepts it, and returns those that get
 * none because they have had as many as the limit allows. The rows stay locked, so that no other transaction takes the
 * same place; must run before the accept, which locks the usage of the team.
 */
export async function countTowardsCap(
  tx: Executor,
  { teamId, contactIds, cap }: { teamId: string; contactIds: readonly string[]; cap: MarketingCap },
  now: number,
): Promise<Set<string>> {
  await beginEngagement(tx, teamId, contactIds);
  const full = new Set<string>();
  const counted: { contact_id: string; times: string }[] = [];
  for (const row of await loadCappedRows(tx, { teamId, contactIds }, true)) {
    const times = listCounted(row, cap, now);
    if (times.length >= cap.emails) full.add(row.contact_id);
    else counted.push({ contact_id: row.contact_id, times: JSON.stringify([...times, now]) });
  }
  if (tx.dialect === 'pg') {
    await tx.run(
      `update contact_engagement as e set marketing_times = d.times
        from jsonb_to_recordset(?::jsonb) as d(contact_id uuid, times text)
        where e.team_id = ? and e.contact_id = d.contact_id`,
      [JSON.stringify(counted), teamId],
    );
  } else {
    await tx.runEach(
      'update contact_engagement set marketing_times = ? where team_id = ? and contact_id = ?',
      counted.map((row) => [row.times, teamId, row.contact_id]),
    );
  }
  return full;
}

const KIND_OF_TYPE: Readonly<Record<string, EngagementKind>> = {
  'email.sent': 'sent',
  'email.delivered': 'delivered',
  'email.opened': 'opened',
  'email.clicked': 'clicked',
};

interface Change {
  team_id: string;
  contact_id: string;
  first_sent: number | null;
  sent: number | null;
  delivered: number | null;
  opened: number | null;
  clicked: number | null;
}

/**
 * Records what happened to mail that was written for contacts. Times only move forward, so an event that is repeated or
 * late changes nothing. What machines open and click does not count.
 */
export async function recordEngagement(tx: Executor, events: readonly EmailEvent[]): Promise<void> {
  const changes = new Map<string, Change>();
  for (const event of events) {
    const { email, at } = event;
    const kind = KIND_OF_TYPE[event.type];
    if (email.contact_id === null || kind === undefined || isByMachine(event)) continue;
    const change = changes.get(email.contact_id) ?? buildNoChange(email.team_id, email.contact_id);
    change[kind] = Math.max(change[kind] ?? 0, at);
    if (kind === 'sent') change.first_sent = Math.min(change.first_sent ?? at, at);
    changes.set(email.contact_id, change);
  }
  if (changes.size === 0) return;
  // A fixed lock order keeps two nodes from deadlocking.
  const inOrder = [...changes.values()].sort((a, b) => (a.contact_id < b.contact_id ? -1 : 1));
  await (tx.dialect === 'pg' ? moveForwardOnPg(tx, inOrder) : moveForwardOnSqlite(tx, inOrder));
  await recordLinks(tx, events);
}

const buildNoChange = (teamId: string, contactId: string): Change => ({
  team_id: teamId,
  contact_id: contactId,
  first_sent: null,
  sent: null,
  delivered: null,
  opened: null,
  clicked: null,
});

/** Locks all rows, changed or not: until the commit, none of these contacts can be erased. */
async function moveForwardOnPg(tx: Executor, changes: readonly Change[]): Promise<void> {
  const fields = ENGAGEMENTS.map((kind) => `d.${kind}`).join(', ');
  const sets = ENGAGEMENTS.map((kind) => `last_${kind}_at = greatest(g.last_${kind}_at, d.${kind})`).join(', ');
  const isLater = ENGAGEMENTS.map((kind) => `d.${kind} > coalesce(g.last_${kind}_at, 0)`).join(' or ');
  await tx.run(
    `update contact_engagement as g set first_sent_at = least(g.first_sent_at, d.first_sent), ${sets}
      from (select e.team_id, e.contact_id, d.first_sent, ${fields}
        from jsonb_to_recordset(?::jsonb) as d(team_id uuid, contact_id uuid, first_sent bigint, sent bigint,
          delivered bigint, opened bigint, clicked bigint)
        join contact_engagement e on e.team_id = d.team_id and e.contact_id = d.contact_id
        order by e.contact_id for update of e) as d
      where g.team_id = d.team_id and g.contact_id = d.contact_id and (${isLater} or d.first_sent < g.first_sent_at)`,
    [JSON.stringify(changes)],
  );
}

/** Writes only the columns that change, so that a send touches no index of opens and clicks. */
async function moveForwardOnSqlite(tx: Executor, changes: readonly Change[]): Promise<void> {
  const listKinds = (change: Change): EngagementKind[] => ENGAGEMENTS.filter((kind) => change[kind] !== null);
  for (const group of Map.groupBy(changes, (change) => listKinds(change).join()).values()) {
    const [first] = group;
    const kinds = first ? listKinds(first) : [];
    const isSent = kinds.includes('sent');
    const sets = kinds.map((kind) => `last_${kind}_at = max(coalesce(last_${kind}_at, 0), ?)`);
    if (isSent) sets.push('first_sent_at = min(coalesce(first_sent_at, ?), ?)');
    await tx.runEach(
      `update contact_engagement set ${sets.join(', ')} where team_id = ? and contact_id = ?`,
      group.map((change) => [
        ...kinds.map((kind) => change[kind]),
        ...(isSent ? [change.first_sent, change.first_sent] : []),
        change.team_id,
        change.contact_id,
      ]),
    );
  }
}

/** Records the links that people clicked, for contacts that still exist. */
async function recordLinks(tx: Executor, events: readonly EmailEvent[]): Promise<void> {
  const clicks = new Map<string, { team_id: string; url_hash: string; contact_id: string; last_at: number }>();
  for (const event of events) {
    const { contact_id: contactId, team_id: teamId } = event.email;
    if (event.type !== 'email.clicked' || contactId === null || isByMachine(event)) continue;
    const hash = hashPlainLink(event.data.click.link);
    const key = `${teamId} ${hash} ${contactId}`;
    const before = clicks.get(key)?.last_at ?? 0;
    clicks.set(key, { team_id: teamId, url_hash: hash, contact_id: contactId, last_at: Math.max(before, event.at) });
  }
  if (clicks.size === 0) return;
  const given =
    tx.dialect === 'pg'
      ? 'jsonb_to_recordset(?::jsonb) as d(team_id uuid, url_hash text, contact_id uuid, last_at bigint)'
      : `(select value->>'team_id' as team_id, value->>'url_hash' as url_hash, value->>'contact_id' as contact_id,
          value->>'last_at' as last_at from json_each(?)) as d`;
  await tx.run(
    `insert into contact_link_clicks (team_id, url_hash, contact_id, last_at)
      select d.team_id, d.url_hash, d.contact_id, d.last_at from ${given}
      cross join contact_engagement e where e.team_id = d.team_id and e.contact_id = d.contact_id order by 1, 2, 3
      on conflict (team_id, url_hash, contact_id) do update set last_at = excluded.last_at
        where excluded.last_at > contact_link_clicks.last_at`,
    [JSON.stringify([...clicks.values()])],
  );
  await removeOldLinks(tx, [...new Set([...clicks.values()].map((click) => click.contact_id))]);
}

/** Links per contact: a personal link in each mail would otherwise add a row with each click, without end. */
const LINKS_MAX = 300;

/** Removes the links of contacts that have more than are kept, those that were clicked longest ago. */
async function removeOldLinks(tx: Executor, contactIds: readonly string[]): Promise<void> {
  const isPg = tx.dialect === 'pg';
  const wanted = isPg ? 'unnest(?::uuid[]) as wanted(value)' : 'json_each(?) as wanted';
  const list = isPg ? `{${contactIds.join(',')}}` : JSON.stringify(contactIds);
  const full = await tx.all<{ contact_id: string }>(
    `select wanted.value as contact_id from ${wanted} where exists (
      select 1 from contact_link_clicks where contact_id = wanted.value limit 1 offset ?)`,
    [list, LINKS_MAX],
  );
  if (full.length === 0) return;
  await tx.runEach(
    `delete from contact_link_clicks where contact_id = ? and (last_at, url_hash) in (
      select last_at, url_hash from contact_link_clicks where contact_id = ?
        order by last_at desc, url_hash desc ${isPg ? '' : 'limit -1 '}offset ?)`,
    full.map(({ contact_id: contactId }) => [contactId, contactId, LINKS_MAX]),
  );
}

/** Counts a custom event that was received for a contact, in a transaction that holds the contact. */
export async function countCustomEvents(
  tx: Executor,
  events: readonly { eventId: string; contactId: string; at: number }[],
): Promise<void> {
  // One statement may change a row once, and all transactions write rows in the same order.
  const received = new Map<string, { row: [string, string, number, number] }>();
  for (const { eventId, contactId, at } of events) {
    const key = `${eventId} ${contactId}`;
    const [, , lastAt, count] = received.get(key)?.row ?? [eventId, contactId, at, 0];
    received.set(key, { row: [eventId, contactId, Math.max(lastAt, at), count + 1] });
  }
  const rows = [...received.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, { row }]) => row);
  if (rows.length === 0) return;
  const later = tx.dialect === 'pg' ? 'greatest' : 'max';
  await tx.insertMany(
    'contact_custom_events',
    ['custom_event_id', 'contact_id', 'last_at', 'count'],
    rows,
    `on conflict (custom_event_id, contact_id) do update set count = contact_custom_events.count + excluded.count,
      last_at = ${later}(contact_custom_events.last_at, excluded.last_at)`,
  );
}

/** Removes what is known about the engagement of an erased contact. */
export async function removeEngagement(
  tx: Executor,
  teamId: string,
  contactId: string,
): Promise<Record<string, number>> {
  const sql = 'delete from contact_engagement where team_id = ? and contact_id = ?';
  return {
    contact_engagement: await tx.run(sql, [teamId, contactId]),
    contact_link_clicks: await tx.run('delete from contact_link_clicks where contact_id = ?', [contactId]),
    contact_custom_events: await tx.run('delete from contact_custom_events where contact_id = ?', [contactId]),
  };
}

/** Removes up to `limit` counts of deleted custom events. Returns the number removed. */
export async function removeCountsOfDeletedEvents(tx: Executor, limit: number): Promise<number> {
  const sql = `select id from custom_events where deleted_at is not null
    and exists (select 1 from contact_custom_events where custom_event_id = custom_events.id) limit 1`;
  const event = await tx.get<{ id: string }>(sql);
  if (!event) return 0;
  return tx.run(
    `delete from contact_custom_events where custom_event_id = ? and contact_id in
      (select contact_id from contact_custom_events where custom_event_id = ? limit ?)`,
    [event.id, event.id, limit],
  );
}

/** Reads the engagement of one contact, for a document about the person. */
export async function findEngagement(
  db: Executor,
  teamId: string,
  contactId: string,
): Promise<{ times: Facts['engagement']; events: { name: string; count: number; lastAt: number }[] }> {
  const summaries = await loadSummaries(db, { teamId, ids: [contactId] });
  const events = await db.all<{ name: string; count: number; last_at: number }>(
    `select c.name, e.count, e.last_at from contact_custom_events e join custom_events c on c.id = e.custom_event_id
      where e.contact_id = ? and c.deleted_at is null order by c.name`,
    [contactId],
  );
  return {
    times: summaries.get(contactId) ?? NO_FACTS.engagement,
    events: events.map(({ name, count, last_at: lastAt }) => ({ name, count: Number(count), lastAt: Number(lastAt) })),
  };
}

/** What filters know about the engagement of a contact. */
export type Facts = Pick<FilteredContact, 'engagement' | 'broadcasts' | 'links' | 'events'>;

const NO_FACTS: Facts = {
  engagement: { firstSent: null, sent: null, delivered: null, opened: null, clicked: null },
  broadcasts: new Map(),
  links: new Map(),
  events: new Map(),
};

/** Reads what filters need to know about contacts; returns a function that gives the facts of one of them. */
export async function loadFacts(
  db: Executor,
  contacts: { teamId: string; ids: readonly string[] },
  needed: NeededFacts,
): Promise<(contactId: string) => Facts> {
  const engagement = needed.engagement ? await loadSummaries(db, contacts) : new Map<string, Facts['engagement']>();
  const broadcasts = await loadReports(db, contacts.ids, needed);
  const links = await loadTimes(db, contacts.ids, {
    table: 'contact_link_clicks',
    named: textsIn(db.dialect, 'url_hash', [...needed.linkHashes]),
    key: 'url_hash',
    isNeeded: needed.linkHashes.size > 0,
  });
  const events = await loadTimes(db, contacts.ids, {
    table: 'contact_custom_events',
    named: uuidsIn(db.dialect, 'custom_event_id', [...needed.eventIds]),
    key: 'custom_event_id',
    isNeeded: needed.eventIds.size > 0,
  });
  return (contactId) => ({
    engagement: engagement.get(contactId) ?? NO_FACTS.engagement,
    broadcasts: broadcasts.get(contactId) ?? NO_FACTS.broadcasts,
    links: links.get(contactId) ?? NO_FACTS.links,
    events: events.get(contactId) ?? NO_FACTS.events,
  });
}

async function loadSummaries(
  db: Executor,
  { teamId, ids }: { teamId: string; ids: readonly string[] },
): Promise<Map<string, Facts['engagement']>> {
  const among = uuidsIn(db.dialect, 'contact_id', ids);
  type Row = { contact_id: string; first_sent_at: number | null } & Record<`last_${EngagementKind}_at`, number | null>;
  const sql = `select * from contact_engagement where team_id = ? and ${among.sql}`;
  const rows = await db.all<Row>(sql, [teamId, among.value]);
  return new Map(
    rows.map((row) => [
      row.contact_id,
      {
        firstSent: readTime(row.first_sent_at),
        sent: readTime(row.last_sent_at),
        delivered: readTime(row.last_delivered_at),
        opened: readTime(row.last_opened_at),
        clicked: readTime(row.last_clicked_at),
      },
    ]),
  );
}

const readTime = (at: number | null): number | null => (at === null ? null : Number(at));

/** Reads what the reports of broadcasts have about contacts, by contact and broadcast. */
async function loadReports(
  db: Executor,
  ids: readonly string[],
  { broadcastIds, broadcastLinks }: NeededFacts,
): Promise<Map<string, Map<string, SeenRecipient>>> {
  const found = new Map<string, Map<string, { did: Set<EngagementKind>; linkHashes: Set<string> }>>();
  if (broadcastIds.size === 0) return found;
  const among = uuidsIn(db.dialect, 'r.contact_id', ids);
  const named = uuidsIn(db.dialect, 'r.broadcast_id', [...broadcastIds]);
  type Row = { contact_id: string; broadcast_id: string } & Record<EngagementKind, number>;
  const rows = await db.all<Row>(
    `select r.contact_id, r.broadcast_id, ${ENGAGEMENTS.map((kind) => `r.${kind}`).join(', ')}
      from broadcast_recipients r where ${named.sql} and ${among.sql}`,
    [named.value, among.value],
  );
  for (const row of rows) {
    const did = ENGAGEMENTS.filter((kind) => Number(row[kind]) > 0);
    const seen = found.get(row.contact_id) ?? new Map();
    found.set(row.contact_id, seen.set(row.broadcast_id, { did: new Set(did), linkHashes: new Set() }));
  }
  if (broadcastLinks.size === 0) return found;
  const hashes = [...new Set([...broadcastLinks.values()].flatMap((links) => [...links]))];
  const sought = textsIn(db.dialect, 'l.plain_hash', hashes);
  const clicks = await db.all<{ contact_id: string; broadcast_id: string; url_hash: string }>(
    `select r.contact_id, r.broadcast_id, l.plain_hash as url_hash from broadcast_recipients r
      join broadcast_link_clicks b on b.email_id = r.email_id
      join broadcast_links l on l.broadcast_id = r.broadcast_id and l.id = b.link_id
      where ${named.sql} and ${among.sql} and ${sought.sql}`,
    [named.value, among.value, sought.value],
  );
  for (const row of clicks) found.get(row.contact_id)?.get(row.broadcast_id)?.linkHashes.add(row.url_hash);
  return found;
}

interface Timed {
  table: 'contact_link_clicks' | 'contact_custom_events';
  named: ReturnType<typeof textsIn>;
  key: 'url_hash' | 'custom_event_id';
  isNeeded: boolean;
}

/** Reads when contacts last clicked links or had events, by contact and key. */
async function loadTimes(
  db: Executor,
  ids: readonly string[],
  { table, named, key, isNeeded }: Timed,
): Promise<Map<string, Map<string, number>>> {
  const found = new Map<string, Map<string, number>>();
  if (!isNeeded) return found;
  const among = uuidsIn(db.dialect, 'contact_id', ids);
  const rows = await db.all<{ contact_id: string; key: string; last_at: number }>(
    `select contact_id, ${key} as key, last_at from ${table} where ${named.sql} and ${among.sql}`,
    [named.value, among.value],
  );
  for (const row of rows) {
    const times = found.get(row.contact_id) ?? new Map<string, number>();
    found.set(row.contact_id, times.set(row.key, Number(row.last_at)));
  }
  return found;
}
