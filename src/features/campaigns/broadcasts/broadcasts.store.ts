import { COVER_MAIL, HOLDS_MAIL, MAIL_HOLD_REASON } from '../../../mail/queue/index.ts';
import { cutPage, pageSql, pageValues, uuidsIn, type Executor, type Page } from '../../../platform/db/index.ts';
import { nextTurn } from '../../../platform/clock.ts';
import type { Approved } from '../../../tenancy/access/index.ts';
import { earliestAt, type When } from './send-time.ts';

/** Reasons that hold an approved broadcast whose segment has more contacts than a person approved, or other ones. */
export const AUDIENCE_GROWN = 'audience_grown';
export const AUDIENCE_REPLACED = 'audience_replaced';

/**
 * Marks a broadcast that was canceled before the backup was made: its mail waits for a resume and is not taken out of
 * the queue.
 */
const CANCELED_BEFORE = 'mail of before its cancel';
const WAS_CANCELED_BEFORE = "(held_reason = 'restored' and held_detail is not null)";

export interface HeldForOutcome {
  reason: 'bounces' | 'complaints';
  /** Figures, in words. */
  detail: string;
  at: number;
}

export interface RateRow {
  id: string;
  team_id: string;
  resumed_delivered: number;
  resumed_bounced: number;
  resumed_complained: number;
}

/** Returns those of the broadcasts that are being sent or were sent, and are not held. */
export function judgeable(db: Executor, ids: readonly string[]): Promise<RateRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id, team_id, resumed_delivered, resumed_bounced, resumed_complained from broadcasts
    where ${among.sql} and held_reason is null and status in ('sending', 'sent')`;
  return db.all<RateRow>(sql, [among.value]);
}

/**
 * Holds a broadcast because of its bounces or complaints. Takes the lease away too, so that a page in progress is
 * rolled back. Returns whether this call held it.
 */
export async function holdForOutcome(
  tx: Executor,
  id: string,
  { reason, detail, at }: HeldForOutcome,
): Promise<boolean> {
  const sql = `update broadcasts set held_reason = ?, held_since = ?, held_detail = ?,
      waiting_reason = null, lease_owner = null, lease_until = null
    where id = ? and held_reason is null and status in ('sending', 'sent')`;
  return (await tx.run(sql, [reason, at, detail, id])) === 1;
}

/**
 * Holds every broadcast that is scheduled, in progress or has mail in the queue, even if it was canceled before.
 * Returns the number held. A broadcast that is already held for a reason that does not stop its mail gets this reason
 * instead.
 */
export const holdRestored = (tx: Executor, at: number): Promise<number> =>
  tx.run(
    `update broadcasts set held_reason = 'restored', held_since = ?,
        held_detail = case when status = 'canceled' then '${CANCELED_BEFORE}' end,
        waiting_reason = null, lease_owner = null, lease_until = null
      where (held_reason is null or held_reason not in ${COVER_MAIL})
        and (status in ('scheduled', 'queued', 'sending') or (status in ('sent', 'canceled')
        and exists (select 1 from deliveries where deliveries.broadcast_id = broadcasts.id)))`,
    [at],
  );

export interface MailHold {
  id: string;
  reason: string;
  /** 1 if it was canceled while held or paused: its mail stays held until it is taken out of the queue. */
  is_canceled: number;
}

/** Returns those of the broadcasts whose mail must not be delivered. */
export function mailHoldsAmong(db: Executor, ids: readonly string[]): Promise<MailHold[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id, ${MAIL_HOLD_REASON} as reason,
      case when status = 'canceled' and not coalesce(${WAS_CANCELED_BEFORE}, false) then 1 else 0 end as is_canceled
    from broadcasts where ${among.sql} and ${HOLDS_MAIL}`;
  return db.all<MailHold>(sql, [among.value]);
}

/** Resumes every broadcast that is held since a restore; those that are due are sent now. */
export const resumeRestored = (db: Executor, at: number): Promise<number> =>
  db.run(
    `update broadcasts set held_reason = null, held_since = null, updated_at = ?,
        status = case when status = 'scheduled' and coalesce(next_at, scheduled_at) <= ? then 'queued' else status end,
        next_at = case when next_at <= ? then ? else next_at end
      where held_reason = 'restored' and (status <> 'canceled' or ${WAS_CANCELED_BEFORE})`,
    [at, at, at, at],
  );

export async function countRestored(db: Executor): Promise<number> {
  const sql = `select count(*) as n from broadcasts
    where held_reason = 'restored' and (status <> 'canceled' or ${WAS_CANCELED_BEFORE})`;
  return Number((await db.get<{ n: number }>(sql))?.n ?? 0);
}

/** Reason why a broadcast that is being sent does not progress at the moment; it continues by itself. */
export type WaitingReason = Obstacle | 'local_hour' | 'ab_test' | 'quiet_hours';

/** Reason that stops a broadcast for a time that cannot be predicted. */
export type Obstacle =
  | 'rate'
  | 'queue'
  | 'hold'
  | 'sending_off'
  | 'marketing_off'
  | 'sending_limited'
  | 'team_suspended'
  | 'domain_unverified'
  | 'review';

export type BroadcastStatus = 'draft' | 'scheduled' | 'queued' | 'sending' | 'sent' | 'canceled' | 'failed';

/** Fields that the author writes. */
export interface BroadcastContent {
  name: string;
  /** The first of its segments. */
  segment_id: string | null;
  /** A JSON list of all its segments; null if it has no more than one. */
  segment_ids: string | null;
  /** A JSON list of segments whose members do not get it. */
  exclude_segment_ids: string | null;
  /** A JSON list of broadcasts whose recipients do not get it. */
  not_received_from: string | null;
  /** Only contacts who received this broadcast and have not opened it get it. */
  received_but_not_opened: string | null;
  sender: string;
  subject: string;
  /** A JSON list. */
  reply_to_list: string;
  preview_text: string | null;
  html: string | null;
  text: string | null;
  topic_id: string | null;
  template_id: string | null;
  /** Emails a minute; null for as fast as the queue takes them. */
  rate_per_minute: number | null;
  /** Pool of the settings that its mail leaves by; null if their conditions decide. */
  pool: string | null;
  /** JSON of the `utm_` parameters for its links, without those that are made from names; null for none. */
  utm: string | null;
  /** 1 if it is sent to each contact at its local hour. */
  local_time: number;
  /** JSON of an `AbTest`: other subjects to try. */
  ab_test: string | null;
  /** 1 if its content must be approved before it is sent. */
  require_review: number;
  /** 1 if it is in the public archive of the team from its first email on. */
  archive: number;
}

/** Values that are fixed when the broadcast is sent. */
export interface Pinned {
  domain_id: string;
  body_id: string;
  template_version_id: string | null;
  /** `Fallbacks` as JSON. */
  fallbacks: string | null;
}

export interface BroadcastRow extends BroadcastContent {
  id: string;
  team_id: string;
  status: BroadcastStatus;
  created_at: number;
  updated_at: number;
  scheduled_at: number | null;
  sent_at: number | null;
  acknowledged: number;
  domain_id: string | null;
  body_id: string | null;
  template_version_id: string | null;
  /** `Fallbacks` as JSON; null before it is sent, and if an earlier version sent it. */
  fallbacks: string | null;
  /** The grant of the app that is the only writer; null once anybody else has written. */
  author_grant_id: string | null;
  /** The name of the app that wrote it or changed it last; null if no app did. */
  changed_by_app: string | null;
  /** Subscribed contacts of the segment when a person approved the send of an app; null for any other broadcast. */
  approved_contacts: number | null;
  approved_audience: string | null;
  started_at: number | null;
  /** Last contact of the last finished page. */
  cursor_id: string | null;
  recipients: number;
  excluded: number;
  total: number | null;
  /** Local time at which each contact gets it, as if it were UTC; null if all get it at the same time. */
  local_at: number | null;
  /** Moment of the time zones whose contacts are sent to now, or were last. */
  pass_at: number | null;
  /** Time at which the subject for the remaining recipients is decided. */
  ab_decides_at: number | null;
  /** JSON of a `Decision`. */
  ab_decision: string | null;
  /** 1 once emails of it were accepted while the domain tracked opens. */
  opens_measured: number;
  clicks_measured: number;
  /** Time at which the next recipients are due; null while they are being sent to. */
  next_at: number | null;
  /** Time at which the first of the contacts that were passed over for their quiet hours may get it. */
  quiet_until: number | null;
  waiting_reason: WaitingReason | null;
  held_reason: string | null;
  held_since: number | null;
  /** Figures that caused the hold, in words. */
  held_detail: string | null;
  failed_reason: string | null;
  /** Time at which the team paused it; null if it is not paused. A canceled one keeps it until its mail is removed. */
  paused_at: number | null;
  paused_by_kind: PauserKind | null;
  paused_by_name: string | null;
  /** The broadcast that it was copied from. */
  duplicated_from: string | null;
  /** 1 once rows of its report are removed by age. */
  report_removed: number;
}

export type PauserKind = 'user' | 'api_key' | 'app';

const CONTENT = [
  'name',
  'segment_id',
  'segment_ids',
  'exclude_segment_ids',
  'not_received_from',
  'received_but_not_opened',
  'sender',
  'subject',
  'reply_to_list',
  'preview_text',
  'html',
  'text',
  'topic_id',
  'template_id',
  'rate_per_minute',
  'pool',
  'utm',
  'local_time',
  'ab_test',
  'require_review',
  'archive',
] as const;
const NEW = [
  'id',
  'team_id',
  'status',
  'created_at',
  'updated_at',
  'author_grant_id',
  'changed_by_app',
  'duplicated_from',
  ...CONTENT,
] as const;

/** Columns of a list; the bodies are left out. */
const LISTED = [
  'id',
  'name',
  'subject',
  'segment_id',
  'topic_id',
  'status',
  'created_at',
  'updated_at',
  'scheduled_at',
  'sent_at',
  'recipients',
  'excluded',
  'total',
  'archive',
  'held_reason',
  'held_since',
  'held_detail',
  'changed_by_app',
  'paused_at',
  'paused_by_kind',
  'paused_by_name',
] as const;
export type ListedBroadcast = Pick<BroadcastRow, (typeof LISTED)[number]>;

export type NewBroadcastRow = Pick<BroadcastRow, (typeof NEW)[number]>;

export async function insertBroadcast(tx: Executor, row: NewBroadcastRow): Promise<void> {
  await tx.insertMany('broadcasts', NEW, [NEW.map((column) => row[column])]);
}

export const findBroadcast = (db: Executor, teamId: string, id: string): Promise<BroadcastRow | undefined> =>
  db.get<BroadcastRow>('select * from broadcasts where team_id = ? and id = ?', [teamId, id]);

/** Returns those of the ids that are broadcasts of the team. */
export async function broadcastsAmong(db: Executor, teamId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const among = uuidsIn(db.dialect, 'id', ids);
  const rows = await db.all<{ id: string }>(`select id from broadcasts where team_id = ? and ${among.sql}`, [
    teamId,
    among.value,
  ]);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Locks a broadcast until the end of the transaction, so that of two calls that change its status the second one sees
 * the first.
 */
export function lockBroadcast(tx: Executor, teamId: string, id: string): Promise<BroadcastRow | undefined> {
  const lock = tx.dialect === 'pg' ? ' for update' : '';
  return tx.get<BroadcastRow>(`select * from broadcasts where team_id = ? and id = ?${lock}`, [teamId, id]);
}

export async function saveContent(
  tx: Executor,
  id: string,
  content: BroadcastContent,
  { authorGrantId, changedByApp, at }: { authorGrantId: string | null; changedByApp: string | null; at: number },
): Promise<void> {
  const sets = CONTENT.map((column) => `${column} = ?`).join(', ');
  await tx.run(`update broadcasts set ${sets}, author_grant_id = ?, changed_by_app = ?, updated_at = ? where id = ?`, [
    ...CONTENT.map((column) => content[column]),
    authorGrantId,
    changedByApp,
    at,
    id,
  ]);
}

export async function deleteBroadcastRow(tx: Executor, id: string): Promise<void> {
  await tx.run('delete from broadcast_reviews where broadcast_id = ?', [id]);
  await tx.run('delete from broadcasts where id = ?', [id]);
}

/**
 * Lists the broadcasts that are scheduled, queued or being sent and go to one of these segments or exclude it. The
 * condition matches the index.
 */
export async function broadcastsWaitingOn(
  db: Executor,
  teamId: string,
  segmentIds: readonly string[],
): Promise<{ id: string; name: string }[]> {
  type Waiting = Pick<BroadcastRow, 'id' | 'name' | 'segment_id' | 'segment_ids' | 'exclude_segment_ids'>;
  const sql = `select id, name, segment_id, segment_ids, exclude_segment_ids from broadcasts
    where status in ('scheduled', 'queued', 'sending') and team_id = ? order by id desc`;
  const named = new Set(segmentIds);
  const isNamed = (row: Waiting): boolean =>
    [row.segment_id ?? '', ...listIds(row.segment_ids), ...listIds(row.exclude_segment_ids)].some((id) =>
      named.has(id),
    );
  return (await db.all<Waiting>(sql, [teamId])).filter(isNamed).map(({ id, name }) => ({ id, name }));
}

/** Reads a JSON list of ids. */
export const listIds = (json: string | null): string[] => (json === null ? [] : (JSON.parse(json) as string[]));

export interface ReferencedBroadcast {
  id: string;
  name: string;
  status: BroadcastStatus;
  hasReport: boolean;
}

/** Returns broadcasts by id, with whether their report is still there; unknown ids are missing. */
export async function referencedBroadcasts(
  db: Executor,
  teamId: string,
  ids: readonly string[],
): Promise<Map<string, ReferencedBroadcast>> {
  if (ids.length === 0) return new Map();
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id, name, status, report_removed from broadcasts where team_id = ? and ${among.sql}`;
  const rows = await db.all<Pick<BroadcastRow, 'id' | 'name' | 'status' | 'report_removed'>>(sql, [
    teamId,
    among.value,
  ]);
  return new Map(
    rows.map(({ id, name, status, report_removed: removed }) => [id, { id, name, status, hasReport: removed === 0 }]),
  );
}

/** Returns the first of the broadcasts that was canceled and whose waiting emails are still being removed. */
export async function findBeingRemoved(db: Executor, ids: readonly string[]): Promise<{ name: string } | undefined> {
  if (ids.length === 0) return undefined;
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select name from broadcasts where ${among.sql} and status = 'canceled' and ${HOLDS_MAIL}
    and exists (select 1 from deliveries where deliveries.broadcast_id = broadcasts.id) order by id limit 1`;
  return db.get<{ name: string }>(sql, [among.value]);
}

/** Lists the broadcasts whose report decides who gets a broadcast that is scheduled, queued or being sent. */
async function reportsInUse(db: Executor, teamId: string): Promise<string[]> {
  type Using = Pick<BroadcastRow, 'not_received_from' | 'received_but_not_opened'>;
  const sql = `select not_received_from, received_but_not_opened from broadcasts
    where status in ('scheduled', 'queued', 'sending') and team_id = ?
      and (not_received_from is not null or received_but_not_opened is not null)`;
  const rows = await db.all<Using>(sql, [teamId]);
  return rows.flatMap((row) => [...listIds(row.not_received_from), row.received_but_not_opened ?? []].flat());
}

export async function countBroadcasts(db: Executor, teamId: string): Promise<number> {
  const row = await db.get<{ n: number }>('select count(*) as n from broadcasts where team_id = ?', [teamId]);
  return Number(row?.n ?? 0);
}

const SEARCHED = 500;

/** Returns a page, newest first. A search passes `matches`, which is applied to each row. */
export async function listBroadcastRows(
  db: Executor,
  teamId: string,
  { status, matches }: { status?: BroadcastStatus | undefined; matches?: (row: ListedBroadcast) => boolean },
  page: Page,
): Promise<{ rows: ListedBroadcast[]; hasMore: boolean }> {
  const where = status === undefined ? 'team_id = ?' : 'team_id = ? and status = ?';
  const values = status === undefined ? [teamId] : [teamId, status];
  const read = (part: Page) =>
    db.all<ListedBroadcast>(pageSql('broadcasts', where, part, LISTED.join(', ')), [...values, ...pageValues(part)]);
  if (!matches) return cutPage(await read(page), page);
  // Letter case is folded by the caller and not in SQL: SQLite folds ASCII alone.
  const found: ListedBroadcast[] = [];
  for (let from = page; ;) {
    const rows = await read({ ...from, limit: SEARCHED });
    found.push(...rows.filter(matches));
    const edge = rows.at(-1)?.id;
    if (edge === undefined || rows.length <= SEARCHED || found.length > page.limit) break;
    from = page.before === undefined ? { limit: SEARCHED, after: edge } : { limit: SEARCHED, before: edge };
    await nextTurn();
  }
  return cutPage(found.slice(0, page.limit + 1), page);
}

/** Turns a draft into a broadcast that is sent now or at a given time. */
export async function markSent(
  tx: Executor,
  id: string,
  { pinned, when, isLocal, isAcknowledged, approved, at }: SendMark,
): Promise<void> {
  const status: BroadcastStatus = when === null ? 'queued' : 'scheduled';
  const local = isLocal && when !== null ? when.local : null;
  await tx.run(
    `update broadcasts set status = ?, scheduled_at = ?, acknowledged = ?, domain_id = ?, body_id = ?,
      template_version_id = ?, fallbacks = ?, local_time = ?, local_at = ?, next_at = ?, approved_contacts = ?,
      approved_audience = ?, updated_at = ?
      where id = ? and status = 'draft'`,
    [
      status,
      when?.at ?? null,
      isAcknowledged ? 1 : 0,
      pinned.domain_id,
      pinned.body_id,
      pinned.template_version_id,
      pinned.fallbacks,
      isLocal ? 1 : 0,
      local,
      local === null ? null : Math.max(at, earliestAt(local)),
      approved.contacts,
      approved.audience,
      at,
      id,
    ],
  );
}

interface SendMark {
  pinned: Pinned;
  /** Time to send at, or null to send now. */
  when: When | null;
  isLocal: boolean;
  isAcknowledged: boolean;
  approved: Approved;
  at: number;
}

/**
 * Cancels a broadcast. The node that sends it notices at its next page. A hold or a pause that stops its mail remains
 * until the mail is taken out of the queue. Returns whether this call canceled it.
 */
export async function markCanceled(tx: Executor, id: string, at: number): Promise<boolean> {
  const kept = (column: string): string => `${column} = case when held_reason in ${COVER_MAIL} then ${column} end`;
  const sql = `update broadcasts set status = 'canceled', ${kept('held_since')}, ${kept('held_reason')}, waiting_reason = null,
    lease_owner = null, lease_until = null, updated_at = ? where id = ? and (status in ('scheduled', 'queued', 'sending')
      or (status = 'sent' and (held_reason is not null or paused_at is not null)))`;
  return (await tx.run(sql, [at, id])) === 1;
}

export interface Pause {
  at: number;
  by: { kind: PauserKind; name: string | null };
}

/**
 * Pauses a broadcast that is scheduled or in progress, or has mail in the queue. Takes the lease away too, so that a
 * page in progress is rolled back. Returns whether this call paused it.
 */
export async function markPaused(tx: Executor, id: string, { at, by }: Pause): Promise<boolean> {
  const sql = `update broadcasts set paused_at = ?, paused_by_kind = ?, paused_by_name = ?,
      waiting_reason = case when waiting_reason in ('local_hour', 'ab_test', 'quiet_hours') then waiting_reason end,
      lease_owner = null, lease_until = null
    where id = ? and paused_at is null and (status in ('scheduled', 'queued', 'sending') or (status = 'sent'
      and exists (select 1 from deliveries where deliveries.broadcast_id = broadcasts.id)))`;
  return (await tx.run(sql, [at, by.kind, by.name, id])) === 1;
}

/** Selects the broadcasts that wait for the result of their A/B test. */
const AWAITS_DECISION = '(ab_decides_at is not null and ab_decision is null)';

/**
 * Ends a pause. Whatever was due meanwhile becomes due now, because it would be found overdue otherwise; only the time
 * to click of an A/B test lasts as long as it had left. Returns whether it was paused.
 */
export async function clearPause(
  tx: Executor,
  id: string,
  { at, approved }: { at: number; approved: Approved },
): Promise<boolean> {
  const sql = `update broadcasts set paused_at = null, paused_by_kind = null, paused_by_name = null, updated_at = ?,
    approved_contacts = ?, approved_audience = ?,
    ab_decides_at = case when ${AWAITS_DECISION} then ab_decides_at + ? - paused_at else ab_decides_at end,
    status = case when status = 'scheduled' and coalesce(next_at, scheduled_at) <= ? then 'queued' else status end,
    next_at = case when ${AWAITS_DECISION} then next_at + ? - paused_at when next_at <= ? then ? else next_at end
    where id = ? and paused_at is not null and status <> 'canceled'`;
  return (await tx.run(sql, [at, approved.contacts, approved.audience, at, at, at, at, at, id])) === 1;
}

/** Outcomes of a broadcast at some moment. */
interface Outcomes {
  delivered: number;
  bounced: number;
  complained: number;
}

/**
 * Ends a hold. Whatever was due meanwhile becomes due now, because it would be found overdue again. From then on, only
 * outcomes after `seen` count against the broadcast. Returns whether it was held.
 */
export async function clearHold(
  tx: Executor,
  id: string,
  { at, seen, approved }: { at: number; seen: Outcomes; approved: Approved },
): Promise<boolean> {
  const sql = `update broadcasts set held_reason = null, held_since = null, held_detail = null, updated_at = ?,
    approved_contacts = ?, approved_audience = ?, resumed_delivered = ?, resumed_bounced = ?, resumed_complained = ?,
    status = case when status = 'scheduled' and coalesce(next_at, scheduled_at) <= ? then 'queued' else status end,
    next_at = case when next_at <= ? then ? else next_at end
    where id = ? and held_reason is not null and status <> 'canceled'`;
  const { delivered, bounced, complained } = seen;
  const values = [at, approved.contacts, approved.audience, delivered, bounced, complained, at, at, at, id];
  return (await tx.run(sql, values)) === 1;
}

/** Returns names by id; deleted broadcasts are missing. */
export async function broadcastNames(
  db: Executor,
  teamId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id, name from broadcasts where team_id = ? and ${among.sql}`;
  const rows = await db.all<{ id: string; name: string }>(sql, [teamId, among.value]);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

interface EndedReport {
  id: string;
  body_id: string;
}

/**
 * A broadcast that ended before `beforeMs` and still has its report and its shared body. Excludes broadcasts with
 * emails that are not sent yet, because those need both, and those whose report decides who gets another one.
 */
export async function endedReport(
  db: Executor,
  { teamId, beforeMs }: { teamId: string; beforeMs: number },
): Promise<EndedReport | undefined> {
  const used = uuidsIn(db.dialect, 'id', await reportsInUse(db, teamId));
  return db.get<EndedReport>(
    `select id, body_id from broadcasts where team_id = ? and updated_at < ? and body_id is not null
        and status in ('sent', 'canceled', 'failed') and (report_removed = 1 or not (${used.sql}))
        and not exists (select 1 from emails where emails.broadcast_id = broadcasts.id)
      order by updated_at limit 1`,
    [teamId, beforeMs, used.value],
  );
}

/** Marks the report of a broadcast as incomplete, in the transaction that removes the first of its rows. */
export const markReportRemoved = (tx: Executor, id: string): Promise<number> =>
  tx.run('update broadcasts set report_removed = 1 where id = ? and report_removed = 0', [id]);

/** Marks a broadcast as having neither report nor body. */
export const forgetReport = (tx: Executor, id: string): Promise<number> =>
  tx.run('update broadcasts set body_id = null where id = ?', [id]);
