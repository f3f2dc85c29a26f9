import type { WebhookEventType } from '../../../contract/index.ts';
import { EVENT_TYPES, holdEvents } from '../../../mail/events/index.ts';
import {
  rowsEnding,
  textsIn,
  withoutCommitNotice,
  uuidsIn,
  type Executor,
  type Page,
  type Value,
} from '../../../platform/db/index.ts';
import { firstIdAt } from '../../../platform/ids.ts';

type WebhookEventStatus = 'pending' | 'attempting' | 'success' | 'failed';

/** One event at one endpoint. Its id contains its time. */
export interface WebhookEventRow {
  event_id: string;
  type: WebhookEventType;
  status: WebhookEventStatus;
  attempt_count: number;
  last_http_status: number | null;
  /** Time of the next attempt; null if the event is finished or set aside. */
  due_at: number | null;
  created_at: number;
  /** 1 for a sample. */
  is_test: number;
}

const SELECTED = 'event_id, type, status, attempt_count, last_http_status, due_at, created_at, is_test';

interface WebhookEventFilter {
  status?: WebhookEventStatus | undefined;
  type?: string | undefined;
  /** Both are inclusive, in milliseconds. */
  createdFrom?: number | undefined;
  createdTo?: number | undefined;
}

type Rows<T> = Promise<{ rows: T[]; hasMore: boolean }>;

/**
 * Lists events as one range of one index for any filter: the primary key without a filter, otherwise one range for each
 * matching type and status, so that a delivery has one index less to write. The filters are part of the range bounds
 * and of the order instead of separate conditions, so that no planner can choose to read the primary key and skip what
 * does not match, which may be a million rows in a row.
 */
export function listWebhookEventRows(
  db: Executor,
  webhookId: string,
  filter: WebhookEventFilter,
  page: Page,
): Rows<WebhookEventRow> {
  const { status, type, createdFrom, createdTo } = filter;
  const above = [FIRST_ID, createdFrom === undefined ? undefined : firstIdAt(createdFrom), page.before];
  const below = [LAST_ID, createdTo === undefined ? undefined : firstIdAt(createdTo + 1), page.after];
  const span = { webhookId, above: largest(above), below: smallest(below), page };
  if (type === undefined && status === undefined) return readPage(db, ...rangeSql(span, {}), page);
  const ranges = (type === undefined ? EVENT_TYPES : [type]).flatMap((ofType) =>
    (status === undefined ? STATUSES : [status]).map((each) => rangeSql(span, { type: ofType, status: each })),
  );
  const [only] = ranges;
  if (only && ranges.length === 1) return readPage(db, ...only, page);
  const all = ranges.map(([sql]) => `select * from (${sql} limit ?) as part`).join(' union all ');
  const values = ranges.flatMap(([, each]) => [...each, page.limit + 1]);
  return readPage(db, `select * from (${all}) as parts order by event_id ${toOrder(page)}`, values, page);
}

export const webhookEventRowsEnding = (db: Executor, webhookId: string, end: string, page: Page) =>
  rowsEnding<WebhookEventRow>(db, { ...ENDING, where: { sql: 'webhook_id = ?', values: [webhookId] } }, end, page);

const ENDING = { table: 'webhook_events', columns: SELECTED, id: 'event_id', form: 'uuid', noun: 'events' } as const;

const STATUSES: readonly WebhookEventStatus[] = ['pending', 'attempting', 'success', 'failed'];

interface Span {
  webhookId: string;
  above: string;
  below: string;
  page: Page;
}

/** Lists the columns of `fixed` in the order of their index. */
function rangeSql({ webhookId, above, below, page }: Span, fixed: Record<string, string>): [sql: string, Value[]] {
  const columns = [...Object.keys(fixed), 'event_id'];
  const values = Object.values(fixed);
  const key = `(${columns.join(', ')})`;
  const marks = `(${columns.map(() => '?').join(', ')})`;
  const order = columns.map((column) => `${column} ${toOrder(page)}`).join(', ');
  const sql = `select ${SELECTED} from webhook_events
    where webhook_id = ? and ${key} > ${marks} and ${key} < ${marks} order by ${order}`;
  return [sql, [webhookId, ...values, above, ...values, below]];
}

const toOrder = (page: Page): 'asc' | 'desc' => (page.before === undefined ? 'desc' : 'asc');

/**
 * No event has the first id of a millisecond, because ids have their version after the time: all of its events are
 * above it.
 */
const FIRST_ID = firstIdAt(0);
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const sorted = (ids: (string | undefined)[]): string[] => ids.filter((id) => id !== undefined).sort();
const largest = (ids: (string | undefined)[]): string => sorted(ids).at(-1) ?? FIRST_ID;
const smallest = (ids: (string | undefined)[]): string => sorted(ids)[0] ?? LAST_ID;

/** Lists parked events, oldest first, after `after` and not created before `createdFrom`. */
export function listParkedRows(
  db: Executor,
  webhookId: string,
  { createdFrom, after, limit }: { createdFrom: number | undefined; after: string | undefined; limit: number },
): Rows<WebhookEventRow> {
  const above = largest([createdFrom === undefined ? undefined : firstIdAt(createdFrom), after]);
  const sql = `select ${SELECTED} from webhook_events
    where webhook_id = ? and parked = 1 and event_id > ? order by event_id`;
  return readPage(db, sql, [webhookId, above], { limit });
}

/**
 * Number of events that an endpoint has not received yet, and of those that it will not receive unless they are
 * replayed.
 */
export interface Outstanding {
  waiting: number;
  parked: number;
}

const OUTSTANDING_MAX = 1000;

/** Counts up to `OUTSTANDING_MAX`, so that a page of endpoints costs the same however many events they miss. */
export async function countOutstanding(db: Executor, webhookIds: readonly string[]): Promise<Map<string, Outstanding>> {
  const count = (where: string): string => `(select count(*) from
    (select 1 from webhook_events where webhook_id = webhooks.id and ${where} limit ${OUTSTANDING_MAX}) as few)`;
  const among = textsIn(db.dialect, 'id', webhookIds);
  const rows = await db.all<Outstanding & { id: string }>(
    `select id, ${count('due_at is not null')} as waiting, ${count('parked = 1')} as parked from webhooks where ${among.sql}`,
    [among.value],
  );
  return new Map(rows.map(({ id, waiting, parked }) => [id, { waiting, parked }]));
}

export const findWebhookEvent = (
  db: Executor,
  webhookId: string,
  eventId: string,
): Promise<WebhookEventRow | undefined> =>
  db.get<WebhookEventRow>(`select ${SELECTED} from webhook_events where webhook_id = ? and event_id = ?`, [
    webhookId,
    eventId,
  ]);

export interface AttemptRow {
  id: string;
  attempt_number: number;
  http_status_code: number | null;
  response: string | null;
  error: string | null;
  duration_ms: number;
  sent_at: number;
}

/** Lists the attempts of an event, newest first. */
export function listAttemptRows(
  db: Executor,
  { webhookId, eventId }: { webhookId: string; eventId: string },
  page: Page,
): Rows<AttemptRow> {
  const cursor = page.after ?? page.before;
  const isBack = page.before !== undefined;
  const edge = cursor === undefined ? '' : `and id ${isBack ? '>' : '<'} ?`;
  const sql = `select id, attempt_number, http_status_code, response, error, duration_ms, sent_at from webhook_attempts
    where webhook_id = ? and event_id = ? ${edge} order by id ${isBack ? 'asc' : 'desc'}`;
  return readPage(db, sql, [webhookId, eventId, ...(cursor === undefined ? [] : [cursor])], page);
}

/** Reads one row more than requested, to know whether there is another page. */
async function readPage<T>(db: Executor, sql: string, values: readonly Value[], page: Page): Rows<T> {
  const rows = await db.all<T>(`${sql} limit ?`, [...values, page.limit + 1]);
  const kept = rows.slice(0, page.limit);
  return { rows: page.before === undefined ? kept : kept.reverse(), hasMore: rows.length > page.limit };
}

/**
 * Makes an event due now with its whole schedule ahead; returns whether it exists. An attempt in progress compares the
 * due time when it is recorded: a different one, by however little, shows that this is a new schedule.
 */
export async function makeDue(tx: Executor, webhookId: string, eventId: string, now: number): Promise<boolean> {
  const sql = `update webhook_events set status = 'pending', parked = 0, tries = 0,
    due_at = case when due_at = ? then due_at - 1 else ? end where webhook_id = ? and event_id = ?`;
  return (await tx.run(sql, [now, now, webhookId, eventId])) === 1;
}

/**
 * Makes events due that wait beyond `latest`, which no retry does, and first attempts that wait at all. Returns the
 * number of events. Each endpoint is one range of the index.
 */
export function bringBackEvents(db: Executor, { now, latest }: { now: number; latest: number }): Promise<number> {
  return db.run(
    `update webhook_events set due_at = ? where due_at is not null and (webhook_id, event_id) in (
      select webhooks.id, late.event_id from webhooks join webhook_events as late on late.webhook_id = webhooks.id
        where late.is_bulk in (0, 1) and late.due_at is not null and late.due_at > ? and (late.due_at > ? or late.tries = 0))`,
    [now, now + FIRST_TRY_MS, latest],
  );
}

/** Tolerated difference between the clocks of two nodes. */
const FIRST_TRY_MS = 60_000;

/**
 * Parks due events of a disabled endpoint; returns how many, at most `limit`. The statement itself checks that the
 * endpoint is disabled: the events that it sees as due were recorded before anybody enabled the endpoint again.
 */
export function parkDue(db: Executor, webhookId: string, limit: number): Promise<number> {
  const some = `select event_id from webhook_events where webhook_id = ? and due_at is not null
    order by is_bulk, due_at, event_id limit ?`;
  const sql = `update webhook_events set parked = 1, due_at = null
    where webhook_id = ? and due_at is not null and event_id in (${some})
      and exists (select 1 from webhooks where id = ? and status = 'disabled')`;
  return db.run(sql, [webhookId, webhookId, limit, webhookId]);
}

/** Returns the times of the team's recent replays, oldest first. */
export async function replaysSince(tx: Executor, teamId: string, since: number): Promise<number[]> {
  const sql = 'select made_at from webhook_replays where team_id = ? and made_at > ? order by made_at';
  return (await tx.all<{ made_at: number }>(sql, [teamId, since])).map((row) => row.made_at);
}

/** Records a replay and removes those that no longer count. */
export async function noteReplay(tx: Executor, replay: { teamId: string; id: string; at: number; since: number }) {
  const { teamId, id, at, since } = replay;
  await tx.run('delete from webhook_replays where team_id = ? and made_at <= ?', [teamId, since]);
  await tx.run('insert into webhook_replays (team_id, id, made_at) values (?, ?, ?)', [teamId, id, at]);
}

/** A finished attempt, and its effect on the event. */
export interface Attempt {
  id: string;
  webhookId: string;
  eventId: string;
  status: number | null;
  response: string | null;
  error: string | null;
  durationMs: number;
  sentAt: number;
  isSuccess: boolean;
  /**
   * State of the event before the attempt. If a replay has changed it meanwhile, the attempt uses up none of the
   * replay's tries.
   */
  read: { dueAt: number; tries: number };
  /** Time of the next try; null if there is none. */
  nextAt: number | null;
}

const COLUMNS = [
  'webhook_id',
  'event_id',
  'id',
  'attempt_number',
  'http_status_code',
  'response',
  'error',
  'duration_ms',
  'sent_at',
] as const;

/**
 * Writes attempts and updates their events. An event that was parked meanwhile stays so unless it has arrived, and a
 * deleted one stays deleted.
 */
export async function recordAttempts(tx: Executor, attempts: readonly Attempt[]): Promise<void> {
  const rows = await tx.all<Moved>(tx.dialect === 'pg' ? MOVE_ON_PG : MOVE, [JSON.stringify(attempts.map(toChange))]);
  const numbers = new Map(rows.map((row) => [toKey(row.webhook_id, row.event_id), row.attempt_count]));
  await tx.insertMany(
    'webhook_attempts',
    COLUMNS,
    attempts.flatMap((attempt) => {
      const number = numbers.get(toKey(attempt.webhookId, attempt.eventId));
      if (number === undefined) return [];
      const { webhookId, eventId, id, status, response, error, durationMs, sentAt } = attempt;
      return [[webhookId, eventId, id, number, status, response, error, durationMs, sentAt]];
    }),
  );
}

interface Moved {
  webhook_id: string;
  event_id: string;
  attempt_count: number;
}

const toKey = (webhookId: string, eventId: string): string => `${webhookId} ${eventId}`;

const toChange = (attempt: Attempt) => ({
  w: attempt.webhookId,
  e: attempt.eventId,
  ok: attempt.isSuccess ? 1 : 0,
  http: attempt.status,
  due: attempt.read.dueAt,
  tries: attempt.read.tries,
  next: attempt.nextAt,
});

/** No replay has changed the event since it was read for the attempt. */
const IS_AS_READ = '(e.due_at = v.due and e.tries = v.tries)';

const SET = `set attempt_count = attempt_count + 1,
    last_http_status = v.http,
    status = case when v.ok = 1 and (${IS_AS_READ} or e.due_at is null) then 'success'
      when not ${IS_AS_READ} then status
      when v.next is null then 'failed' else 'attempting' end,
    tries = case when ${IS_AS_READ} then v.tries + 1 else e.tries end,
    due_at = case when ${IS_AS_READ} then v.next else e.due_at end,
    parked = case when v.ok = 1 and e.due_at is null then 0 else parked end`;

const MATCH = 'where e.webhook_id = v.w and e.event_id = v.e returning webhook_id, event_id, attempt_count';

/** Sends no commit notice, which would wake the sender for the events that it has just tried. */
const MOVE_ON_PG = withoutCommitNotice(`update webhook_events as e ${SET}
  from jsonb_to_recordset(?::jsonb) as v(w text, e uuid, ok int, http int, due bigint, tries int, next bigint) ${MATCH}`);

const MOVE = withoutCommitNotice(`update webhook_events as e ${SET}
  from (select json_extract(value, '$.w') as w, json_extract(value, '$.e') as e, json_extract(value, '$.ok') as ok,
    json_extract(value, '$.http') as http, json_extract(value, '$.due') as due,
    json_extract(value, '$.tries') as tries, json_extract(value, '$.next') as next from json_each(?)) as v ${MATCH}`);

/**
 * Updates endpoints with the result of attempts, and with the response to the last one. A success ends a series of
 * failures; only a later failure begins another one, however late it is written. Among attempts that are written
 * together, a success counts: something got through.
 */
export async function recordHealth(tx: Executor, attempts: readonly Attempt[]): Promise<void> {
  const byWebhook = Map.groupBy(attempts, (attempt) => attempt.webhookId);
  if (tx.dialect === 'pg') {
    const ids = textsIn(tx.dialect, 'id', [...byWebhook.keys()]);
    // Everyone who changes several endpoints locks them in the same order.
    await tx.all(`select id from webhooks where ${ids.sql} order by id for no key update`, [ids.value]);
  }
  for (const [webhookId, all] of byWebhook) {
    const succeededAt = Math.max(...all.filter((attempt) => attempt.isSuccess).map((attempt) => attempt.sentAt));
    const failed = all.filter((attempt) => !attempt.isSuccess && attempt.sentAt > succeededAt);
    const failedAt = failed.length === 0 ? null : Math.min(...failed.map((attempt) => attempt.sentAt));
    const last = all.reduce((latest, attempt) => (attempt.sentAt >= latest.sentAt ? attempt : latest));
    const answer = [last.sentAt, last.status, last.error, webhookId];
    if (succeededAt > 0) await tx.run(SUCCEEDED, [succeededAt, failedAt, ...answer]);
    else await tx.run(FAILED, [failedAt, failedAt, ...answer]);
  }
}

const ANSWER = 'last_attempt_at = ?, last_http_status = ?, last_error = ? where id = ?';

const SUCCEEDED = withoutCommitNotice(`update webhooks set last_success_at = ?, failing_since = ?, ${ANSWER}`);

const FAILED = withoutCommitNotice(`update webhooks set failing_since = case
  when failing_since is null and (last_success_at is null or last_success_at < ?) then ? else failing_since end, ${ANSWER}`);

export interface PayloadRow {
  event_id: string;
  team_id: string;
  payload: string;
  /** The payload contains the recorded data: it is not written if that was erased meanwhile. */
  isOfRecorded: boolean;
}

export async function findPayloads(
  db: Executor,
  teamId: string,
  eventIds: readonly string[],
): Promise<Map<string, string>> {
  const among = uuidsIn(db.dialect, 'event_id', eventIds);
  const sql = `select event_id, payload from webhook_payloads where team_id = ? and ${among.sql}`;
  const rows = await db.all<Pick<PayloadRow, 'event_id' | 'payload'>>(sql, [teamId, among.value]);
  return new Map(rows.map((row) => [row.event_id, row.payload]));
}

/** Inserts payloads; keeps existing ones and skips those whose event was erased meanwhile. Returns how many are new. */
export async function insertPayloads(tx: Executor, rows: readonly PayloadRow[]): Promise<number> {
  const recorded = rows.filter((row) => row.isOfRecorded).map((row) => row.event_id);
  const kept = await holdEvents(tx, recorded);
  // Inserted in the same order everywhere, or two nodes that write the same ones would deadlock.
  const ordered = rows
    .filter((row) => !row.isOfRecorded || kept.has(row.event_id))
    .toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1));
  if (ordered.length === 0) return 0;
  return tx.insertMany(
    'webhook_payloads',
    ['event_id', 'team_id', 'payload'],
    ordered.map((row) => [row.event_id, row.team_id, row.payload]),
    'on conflict (team_id, event_id) do nothing',
  );
}

/** Deletes the payloads of events whose data is being erased, and what endpoints answered to them. */
export async function erasePayloads(tx: Executor, teamId: string, eventIds: readonly string[]): Promise<void> {
  if (eventIds.length === 0) return;
  const among = uuidsIn(tx.dialect, 'event_id', eventIds);
  await tx.run(`delete from webhook_payloads where team_id = ? and ${among.sql}`, [teamId, among.value]);
  const attempts = `update webhook_attempts set response = null
    where webhook_id in (select id from webhooks where team_id = ?) and ${among.sql} and response is not null`;
  await tx.run(attempts, [teamId, among.value]);
}

/** Returns which of these events of a team were put into the outbox of an endpoint or a listener. */
export async function listToldEvents(db: Executor, teamId: string, eventIds: readonly string[]): Promise<Set<string>> {
  const among = uuidsIn(db.dialect, 'event_id', eventIds);
  const sql = `select event_id from webhook_events
      where webhook_id in (select id from webhooks where team_id = ?) and ${among.sql}
    union select event_id from webhook_listener_events
      where listener_id in (select id from webhook_listeners where team_id = ?) and ${among.sql}`;
  const rows = await db.all<{ event_id: string }>(sql, [teamId, among.value, teamId, among.value]);
  return new Set(rows.map((row) => row.event_id));
}
