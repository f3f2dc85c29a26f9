import { quietly, textsIn, type Executor, type Value } from '../../platform/db/index.ts';

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
  /** As the event stood when it was taken: a replay in the meantime has given it another turn, which is not used up. */
  taken: { dueAt: number; tries: number; attempts: number };
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
  const numbers = tx.dialect === 'pg' ? await move(tx, MOVE_ON_PG, attempts) : await moveOneByOne(tx, attempts);
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

/** Answers which attempt of its event each was, for those whose event stands. */
async function move(tx: Executor, sql: string, attempts: readonly Attempt[]): Promise<Map<string, number>> {
  const rows = await tx.all<Moved>(sql, [JSON.stringify(attempts.map(changeOf))]);
  return new Map(rows.map((row) => [keyOf(row.webhook_id, row.event_id), row.attempt_count]));
}

/** Without a way to a server, a short statement for each costs half of one that takes them all out of JSON. */
async function moveOneByOne(tx: Executor, attempts: readonly Attempt[]): Promise<Map<string, number>> {
  const numbers = new Map<string, number>();
  const others: Attempt[] = [];
  const moved = await tx.runEach(MOVE_HELD, attempts.map(heldValuesOf));
  for (const [i, attempt] of attempts.entries()) {
    if (moved[i] === 1) numbers.set(keyOf(attempt.webhookId, attempt.eventId), attempt.taken.attempts + 1);
    else others.push(attempt);
  }
  if (others.length > 0) for (const [key, number] of await move(tx, MOVE, others)) numbers.set(key, number);
  return numbers;
}

const keyOf = (webhookId: string, eventId: string): string => `${webhookId} ${eventId}`;

const changeOf = (attempt: Attempt) => ({
  w: attempt.webhookId,
  e: attempt.eventId,
  ok: attempt.isSuccess ? 1 : 0,
  http: attempt.status,
  due: attempt.taken.dueAt,
  tries: attempt.taken.tries,
  next: attempt.nextAt,
});

const SET = `set attempt_count = attempt_count + 1,
    last_http_status = v.http,
    status = case when v.ok = 1 and (HELD or e.due_at is null) then 'success'
      when not (HELD) then status
      when v.next is null then 'failed' else 'attempting' end,
    tries = case when HELD then v.tries + 1 else e.tries end,
    due_at = case when HELD then v.next else e.due_at end,
    parked = case when v.ok = 1 and e.due_at is null then 0 else parked end`.replaceAll(
  'HELD',
  'e.due_at = v.due and e.tries = v.tries',
);

const MATCH = 'where e.webhook_id = v.w and e.event_id = v.e returning webhook_id, event_id, attempt_count';

/** Quietly: whoever looks for work would find what has just been done. */
const MOVE_ON_PG = quietly(`update webhook_events as e ${SET}
  from jsonb_to_recordset(?::jsonb) as v(w text, e uuid, ok int, http int, due bigint, tries int, next bigint) ${MATCH}`);

const MOVE = quietly(`update webhook_events as e ${SET}
  from (select json_extract(value, '$.w') as w, json_extract(value, '$.e') as e, json_extract(value, '$.ok') as ok,
    json_extract(value, '$.http') as http, json_extract(value, '$.due') as due,
    json_extract(value, '$.tries') as tries, json_extract(value, '$.next') as next from json_each(?)) as v ${MATCH}`);

/** Of an event that is still as it was taken: what MOVE makes of it. */
const MOVE_HELD = quietly(`update webhook_events
  set last_http_status = ?, status = ?, tries = tries + 1, due_at = ?, attempt_count = ?
  where webhook_id = ? and event_id = ? and due_at = ? and tries = ? and attempt_count = ?`);

function heldValuesOf({ webhookId, eventId, status, isSuccess, nextAt, taken }: Attempt): Value[] {
  const becomes = isSuccess ? 'success' : nextAt === null ? 'failed' : 'attempting';
  const { dueAt, tries, attempts } = taken;
  return [status, becomes, nextAt, attempts + 1, webhookId, eventId, dueAt, tries, attempts];
}

/** How an endpoint fared in a series of attempts. */
export interface Health {
  webhookId: string;
  /** The last success; null when there was none. */
  succeededAt: number | null;
  /** The first failure after it; null when there was none. */
  failedAt: number | null;
}

const BEGINS_UNLESS_OVER = 'case when last_success_at >= ? then failing_since else coalesce(failing_since, ?) end';

/** Success ends a series of failures; only what comes after it begins another one, however late it is written. */
export async function recordHealth(tx: Executor, health: readonly Health[]): Promise<void> {
  if (health.length === 0) return;
  if (tx.dialect === 'pg') {
    const ids = textsIn(
      tx.dialect,
      'id',
      health.map(({ webhookId }) => webhookId),
    );
    // In one order for everybody who changes several of them.
    await tx.all(`select id from webhooks where ${ids.sql} order by id for no key update`, [ids.value]);
  }
  for (const { webhookId, succeededAt, failedAt } of health) {
    await tx.run(
      quietly(`update webhooks set last_success_at = coalesce(?, last_success_at),
        failing_since = ${succeededAt === null ? BEGINS_UNLESS_OVER : '?'} where id = ?`),
      succeededAt === null ? [null, failedAt, failedAt, webhookId] : [succeededAt, failedAt, webhookId],
    );
  }
}
