import {
  pageInBatches,
  cutPage,
  pageSql,
  pageValues,
  textsIn,
  uuidsIn,
  type Executor,
  type Page,
  type Value,
} from '../../../platform/db/index.ts';
import type { BounceType } from './outcome.ts';
import { createHash } from 'node:crypto';

export type RecipientType =
  | 'sent'
  | 'delivered'
  | 'opened'
  | 'clicked'
  | 'bounced'
  | 'complained'
  | 'unsubscribed'
  | 'suppressed';

/** Reason why an address of the segment was excluded. */
export type ExclusionReason =
  | 'unsubscribed'
  | 'topic_opt_out'
  | 'suppressed'
  | 'deleted'
  | 'invalid_address'
  | 'sandboxed'
  | 'too_large'
  | 'excluded_segment'
  | 'already_received'
  | 'already_opened'
  | 'not_received'
  | 'marketing_cap';

export interface RecipientRow {
  broadcast_id: string;
  /** The address as suppressions compare it, or its hash once the contact was erased. */
  email_key: string;
  /** A UUIDv7, which gives the order of the report. */
  id: string;
  contact_id: string | null;
  /** Empty once the contact was erased. */
  email: string;
  /** The email, or null if the address was excluded. */
  email_id: string | null;
  excluded: ExclusionReason | null;
  /** Index of the subject that the address gets; null outside of a test. */
  variant: number | null;
  sent: number;
  delivered: number;
  opened: number;
  clicked: number;
  machine_opened: number;
  machine_clicked: number;
  complained: number;
  unsubscribed: number;
  suppressed: number;
  bounced: BounceType | null;
}

export type NewRecipientRow = Pick<
  RecipientRow,
  'broadcast_id' | 'email_key' | 'id' | 'contact_id' | 'email' | 'email_id' | 'excluded'
> &
  Partial<Pick<RecipientRow, 'variant'>>;

const NEW_COLUMNS = [
  'broadcast_id',
  'email_key',
  'id',
  'contact_id',
  'email',
  'email_id',
  'excluded',
  'variant',
] as const;

/** Makes sure that a contact that was just erased is not named again. */
const asReported = (row: NewRecipientRow): NewRecipientRow =>
  row.excluded === 'deleted' ? { ...row, email_key: erasedKey(row.email_key), email: '' } : row;

/** Inserts recipients and leaves existing rows of the broadcast as they are. Returns the number of new rows. */
export function insertRecipients(tx: Executor, rows: readonly NewRecipientRow[]): Promise<number> {
  return tx.insertMany(
    'broadcast_recipients',
    NEW_COLUMNS,
    rows.map(asReported).map((row) => NEW_COLUMNS.map((column) => row[column] ?? null)),
    'on conflict (broadcast_id, email_key) do nothing',
  );
}

/** Returns those of the addresses that the broadcast already has, including erased ones. */
export async function recipientsAmong(
  db: Executor,
  broadcastId: string,
  emailKeys: readonly string[],
): Promise<Set<string>> {
  const keysByStored = new Map(
    emailKeys.flatMap((key) => [key, erasedKey(key)].map((stored) => [stored, key] as const)),
  );
  const among = textsIn(db.dialect, 'email_key', [...keysByStored.keys()]);
  const sql = `select email_key from broadcast_recipients where broadcast_id = ? and ${among.sql}`;
  const rows = await db.all<{ email_key: string }>(sql, [broadcastId, among.value]);
  return new Set(rows.flatMap((row) => keysByStored.get(row.email_key) ?? []));
}

/** Returns those of the contacts that the broadcast has already met, under any address. */
export async function contactsMet(
  db: Executor,
  broadcastId: string,
  contactIds: readonly string[],
): Promise<Set<string>> {
  const among = uuidsIn(db.dialect, 'contact_id', contactIds);
  const sql = `select contact_id as id from broadcast_recipients
    where broadcast_id = ? and contact_id is not null and ${among.sql}`;
  const rows = await db.all<{ id: string }>(sql, [broadcastId, among.value]);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Selects the rows of recipients who got the mail or may still get it: it was neither excluded nor dropped, and it did
 * not bounce before it was delivered. An email in doubt counts as received.
 */
const HAS_RECEIVED = `(r.email_id is not null and r.unsent = 0
  and (r.delivered > 0 or (r.bounced is null and r.suppressed = 0)))`;
/** Selects the rows of recipients whose mail was delivered and did not bounce later. */
const WAS_DELIVERED = '(r.delivered > 0 and r.bounced is null)';
/** Selects the rows of recipients who opened the mail. A click counts as an open; machines do not count. */
const HAS_OPENED = '(r.opened > 0 or r.clicked > 0)';

/** Earlier broadcasts whose reports decide about a contact. */
export interface EarlierBroadcasts {
  notReceivedFrom: readonly string[];
  /** Only contacts who received this one and have not opened it get the mail. */
  notOpened: string | null;
}

type EarlierReason = Extract<ExclusionReason, 'already_received' | 'already_opened' | 'not_received'>;

/**
 * Renders the conditions on the contact `c` by which reports of earlier broadcasts exclude it, in the order in which
 * they apply. A report has the contact by its address or its id. Addresses that were erased are not found.
 */
export function renderEarlier({ notReceivedFrom, notOpened }: EarlierBroadcasts): {
  reason: EarlierReason;
  condition: { sql: string; values: string[] };
}[] {
  const isIn = (ids: readonly string[], where: string) => {
    const rows = (by: string): string =>
      `exists (select 1 from broadcast_recipients r where r.broadcast_id in (${ids.map(() => '?').join(', ')}) and ${by} and ${where})`;
    return {
      sql: `(${rows('r.email_key = c.email_key')} or ${rows('r.contact_id = c.id')})`,
      values: [...ids, ...ids],
    };
  };
  const conditions: ReturnType<typeof renderEarlier> = [];
  if (notReceivedFrom.length > 0)
    conditions.push({ reason: 'already_received', condition: isIn(notReceivedFrom, HAS_RECEIVED) });
  if (notOpened !== null) {
    const delivered = isIn([notOpened], WAS_DELIVERED);
    conditions.push({ reason: 'already_opened', condition: isIn([notOpened], HAS_OPENED) });
    conditions.push({ reason: 'not_received', condition: { ...delivered, sql: `(not ${delivered.sql})` } });
  }
  return conditions;
}

interface SeenRow {
  email_key: string;
  contact_id: string | null;
  has_received: number;
  was_delivered: number;
  has_opened: number;
}

/** Finds the contacts that reports of earlier broadcasts exclude, with the reason; erased addresses are found too. */
export async function excludedByEarlier(
  tx: Executor,
  { notReceivedFrom, notOpened }: EarlierBroadcasts,
  contacts: readonly { id: string; email_key: string }[],
): Promise<Map<string, EarlierReason>> {
  const excluded = new Map<string, EarlierReason>();
  const received = await seenIn(tx, notReceivedFrom, contacts);
  for (const { id } of contacts) {
    if (received.get(id)?.some((row) => row.has_received === 1)) excluded.set(id, 'already_received');
  }
  if (notOpened === null) return excluded;
  const seen = await seenIn(tx, [notOpened], contacts);
  for (const { id } of contacts) {
    const rows = seen.get(id) ?? [];
    if (excluded.has(id)) continue;
    if (rows.some((row) => row.has_opened === 1)) excluded.set(id, 'already_opened');
    else if (!rows.some((row) => row.was_delivered === 1)) excluded.set(id, 'not_received');
  }
  return excluded;
}

/** Returns what the reports have about each contact, by its id; two index probes for each contact and broadcast. */
async function seenIn(
  tx: Executor,
  broadcastIds: readonly string[],
  contacts: readonly { id: string; email_key: string }[],
): Promise<Map<string, SeenRow[]>> {
  if (broadcastIds.length === 0 || contacts.length === 0) return new Map();
  const idsByKey = new Map(contacts.flatMap(({ id, email_key: key }) => [key, erasedKey(key)].map((one) => [one, id])));
  const broadcasts = uuidsIn(tx.dialect, 'r.broadcast_id', broadcastIds);
  const byKey = textsIn(tx.dialect, 'r.email_key', [...idsByKey.keys()]);
  const byContact = uuidsIn(
    tx.dialect,
    'r.contact_id',
    contacts.map(({ id }) => id),
  );
  const flag = (condition: string, name: string): string => `case when ${condition} then 1 else 0 end as ${name}`;
  const flags = [
    flag(HAS_RECEIVED, 'has_received'),
    flag(WAS_DELIVERED, 'was_delivered'),
    flag(HAS_OPENED, 'has_opened'),
  ];
  const select = `select r.email_key, r.contact_id, ${flags.join(', ')} from broadcast_recipients r`;
  const seen = new Map<string, SeenRow[]>();
  const keep = (id: string | undefined, row: SeenRow): void => {
    if (id !== undefined) seen.set(id, [...(seen.get(id) ?? []), row]);
  };
  const sqlByKey = `${select} where ${broadcasts.sql} and ${byKey.sql}`;
  for (const row of await tx.all<SeenRow>(sqlByKey, [broadcasts.value, byKey.value])) {
    keep(idsByKey.get(row.email_key), row);
  }
  const sqlByContact = `${select} where ${broadcasts.sql} and ${byContact.sql}`;
  for (const row of await tx.all<SeenRow>(sqlByContact, [broadcasts.value, byContact.value])) {
    keep(row.contact_id ?? undefined, row);
  }
  return seen;
}

/** Must match the conditions of the partial indexes. */
const CONDITIONS: Record<RecipientType, string> = {
  sent: 'sent > 0',
  delivered: 'delivered > 0',
  opened: 'opened > 0',
  clicked: 'clicked > 0',
  bounced: 'bounced is not null',
  complained: 'complained > 0',
  unsubscribed: 'unsubscribed > 0',
  suppressed: 'suppressed > 0',
};

interface SoughtRecipients {
  broadcastId: string;
  type: RecipientType;
  /** A part of the address, in any letter case. */
  email?: string | undefined;
  bounceType?: BounceType | undefined;
}

export async function recipientsPage(
  db: Executor,
  { broadcastId, type, email, bounceType }: SoughtRecipients,
  page: Page,
): Promise<{ rows: RecipientRow[]; hasMore: boolean }> {
  const where = { sql: `broadcast_id = ? and ${CONDITIONS[type]}`, values: [broadcastId] };
  const matches: { sql: string; value: Value }[] = [];
  if (email !== undefined) {
    const position = db.dialect === 'pg' ? 'strpos' : 'instr';
    matches.push({ sql: `email <> '' and ${position}(email_key, ?) > 0`, value: email.toLowerCase() });
  }
  if (bounceType !== undefined) matches.push({ sql: 'bounced = ?', value: bounceType });
  if (matches.length === 0) return plainPage(db, where, page);
  const match = {
    sql: matches.map(({ sql }) => sql).join(' and '),
    values: matches.map(({ value }) => value),
  };
  return pageInBatches<RecipientRow>(db, { table: 'broadcast_recipients', where, match }, page);
}

export const exclusionsPage = (
  db: Executor,
  broadcastId: string,
  page: Page,
): Promise<{ rows: RecipientRow[]; hasMore: boolean }> =>
  plainPage(db, { sql: 'broadcast_id = ? and excluded is not null', values: [broadcastId] }, page);

async function plainPage(
  db: Executor,
  { sql, values }: { sql: string; values: readonly Value[] },
  page: Page,
): Promise<{ rows: RecipientRow[]; hasMore: boolean }> {
  const rows = await db.all<RecipientRow>(pageSql('broadcast_recipients', sql, page), [...values, ...pageValues(page)]);
  return cutPage(rows, page);
}

export interface VariantCount {
  variant: number;
  recipients: number;
  /** Recipients who clicked; clicks of machines do not count. */
  clicked: number;
}

/**
 * Counts recipients and clicks for each subject of a test. Each count uses its own index; the plus rules out the other
 * one.
 */
export async function variantCounts(db: Executor, broadcastId: string, variants: number): Promise<VariantCount[]> {
  const all = await db.all<{ variant: number; n: number }>(
    `select variant, count(*) as n from broadcast_recipients where broadcast_id = ? and variant is not null group by variant`,
    [broadcastId],
  );
  const clicked = await db.all<{ variant: number; n: number }>(
    `select variant, count(*) as n from broadcast_recipients
      where broadcast_id = ? and clicked > 0 and +variant is not null group by +variant, variant`,
    [broadcastId],
  );
  const of = (rows: typeof all, variant: number): number => Number(rows.find((row) => row.variant === variant)?.n ?? 0);
  return Array.from({ length: variants }, (_, variant) => ({
    variant,
    recipients: of(all, variant),
    clicked: of(clicked, variant),
  }));
}

/**
 * Returns the key that replaces an erased address. It cannot be reversed, but a lookup by the address still finds the
 * row.
 */
const erasedKey = (emailKey: string): string => `sha256:${createHash('sha256').update(emailKey).digest('hex')}`;

/**
 * Erases an address from the reports of a team's broadcasts. The rows remain, so that the address does not get the same
 * broadcast again. Each row is found by its key: one index probe per broadcast, however many recipients there are.
 */
export async function eraseRecipient(tx: Executor, teamId: string, emailKey: string): Promise<number> {
  const theirs = 'broadcast_id in (select id from broadcasts where team_id = ? and body_id is not null)';
  const sql = `update broadcast_recipients set email_key = ?, email = '' where email_key = ? and ${theirs}`;
  return tx.run(sql, [erasedKey(emailKey), emailKey, teamId]);
}

/** Counts the rows in the reports of a team's broadcasts that keep the hash of an erased address. */
export async function countErasedRecipients(
  db: Executor,
  { teamId, emailKey }: { teamId: string; emailKey: string },
): Promise<number> {
  const theirs = 'broadcast_id in (select id from broadcasts where team_id = ? and body_id is not null)';
  const sql = `select count(*) as count from broadcast_recipients where ${theirs} and email_key = ?`;
  return Number((await db.get<{ count: number }>(sql, [teamId, erasedKey(emailKey)]))?.count ?? 0);
}

/** Removes up to `limit` rows of a report together with the clicks of their recipients. Returns the number of rows. */
export async function removeRecipients(tx: Executor, broadcastId: string, limit: number): Promise<number> {
  const gone = await tx.all<{ email_id: string | null }>(
    `delete from broadcast_recipients where broadcast_id = ? and email_key in (
        select email_key from broadcast_recipients where broadcast_id = ? order by email_key limit ?) returning email_id`,
    [broadcastId, broadcastId, limit],
  );
  const emailIds = gone.flatMap(({ email_id: id }) => id ?? []);
  if (emailIds.length > 0) {
    const among = uuidsIn(tx.dialect, 'email_id', emailIds);
    await tx.run(`delete from broadcast_link_clicks where ${among.sql}`, [among.value]);
  }
  return gone.length;
}

/** Removes the links of a broadcast, at most a thousand and one. */
export const removeLinks = (tx: Executor, broadcastId: string): Promise<number> =>
  tx.run('delete from broadcast_links where broadcast_id = ?', [broadcastId]);
