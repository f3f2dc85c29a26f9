import { withoutCommitNotice, textsIn, type Executor } from '../../../platform/db/index.ts';

/** One try that has ended, and what it makes of its event. */
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
  /** As the event was read before the attempt. Where a replay has changed it meanwhile, the attempt uses up none of the replay's tries. */
  read: { dueAt: number; tries: number };
  /** When it is tried again; null when it is not. */
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
 * Writes attempts and what they make of their events. An event that was parked meanwhile stays parked unless it has
 * arrived, and what was deleted stays deleted.
 */
export async function recordAttempts(tx: Executor, attempts: readonly Attempt[]): Promise<void> {
  const rows = await tx.all<Moved>(tx.dialect === 'pg' ? MOVE_ON_PG : MOVE, [JSON.stringify(attempts.map(changeOf))]);
  const numbers = new Map(rows.map((row) => [keyOf(row.webhook_id, row.event_id), row.attempt_count]));
  await tx.insertMany(
    'webhook_attempts',
    COLUMNS,
    attempts.flatMap((attempt) => {
      const number = numbers.get(keyOf(attempt.webhookId, attempt.eventId));
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

const keyOf = (webhookId: string, eventId: string): string => `${webhookId} ${eventId}`;

const changeOf = (attempt: Attempt) => ({
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

/** Without commit notice, which would wake the sender for the events that it has just tried. */
const MOVE_ON_PG = withoutCommitNotice(`update webhook_events as e ${SET}
  from jsonb_to_recordset(?::jsonb) as v(w text, e uuid, ok int, http int, due bigint, tries int, next bigint) ${MATCH}`);

const MOVE = withoutCommitNotice(`update webhook_events as e ${SET}
  from (select json_extract(value, '$.w') as w, json_extract(value, '$.e') as e, json_extract(value, '$.ok') as ok,
    json_extract(value, '$.http') as http, json_extract(value, '$.due') as due,
    json_extract(value, '$.tries') as tries, json_extract(value, '$.next') as next from json_each(?)) as v ${MATCH}`);

/**
 * What attempts say of their endpoints, and what the last of them was answered. Success ends a series of failures; only what comes after it begins another one,
 * however late it is written. Of attempts that are written together, success counts: something got through.
 */
export async function recordHealth(tx: Executor, attempts: readonly Attempt[]): Promise<void> {
  const byWebhook = Map.groupBy(attempts, (attempt) => attempt.webhookId);
  if (tx.dialect === 'pg') {
    const ids = textsIn(tx.dialect, 'id', [...byWebhook.keys()]);
    // In one order for everybody who changes several of them.
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
