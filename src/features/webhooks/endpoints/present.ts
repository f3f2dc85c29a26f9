import { publicEventId } from '../../../mail/events/index.ts';
import type { WebhookEventType } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import { timeOfId } from '../../../platform/ids/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { maskedSecretOf } from './signing-secrets.ts';
import type { AttemptRow, Outstanding, WebhookEventRow } from './webhook-events.store.ts';
import type { WebhookRow } from './webhooks.store.ts';

/** With how it answers and how much it has not been told. The secret is masked unless it is handed in, which only those do who have just made it. */
export function presentWebhook(
  store: Store,
  row: WebhookRow,
  { waiting, parked }: Outstanding,
  secret = maskedSecretOf(store, row),
) {
  return {
    object: 'webhook' as const,
    id: row.id,
    endpoint: row.endpoint,
    events: JSON.parse(row.events) as WebhookEventType[],
    status: row.status,
    signing_secret: secret,
    created_at: isoTime(row.created_at),
    ...(row.disabled_at === null ? {} : { disabled_at: isoTime(row.disabled_at) }),
    ...(row.disabled_reason === null ? {} : { disabled_reason: row.disabled_reason }),
    last_attempt_at: timeOrNull(row.last_attempt_at),
    last_http_status: row.last_http_status,
    last_error: row.last_error,
    failing_since: timeOrNull(row.failing_since),
    events_waiting: waiting,
    events_parked: parked,
  };
}

const timeOrNull = (at: number | null): string | null => (at === null ? null : isoTime(at));

/**
 * Presents an event. Its time is that of the id, which the filters of the list use, unless the id runs ahead of the
 * time of the event.
 */
export function presentWebhookEvent(row: WebhookEventRow) {
  return {
    id: publicEventId(row.event_id),
    type: row.type,
    status: row.status,
    attempt_count: row.attempt_count,
    last_http_status: row.last_http_status,
    created_at: isoTime(Math.min(timeOfId(row.event_id), Number(row.created_at))),
    ...(row.is_test === 1 ? { test: true as const } : {}),
  };
}

export function presentAttempt(row: AttemptRow) {
  return {
    object: 'webhook_attempt' as const,
    id: row.id,
    attempt_number: row.attempt_number,
    http_status_code: row.http_status_code,
    response: row.response,
    error: row.error,
    duration_ms: row.duration_ms,
    sent_at: isoTime(row.sent_at),
  };
}
