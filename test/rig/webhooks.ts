import { insertPayloads } from '../../src/features/webhooks/endpoints/webhook-events.store.ts';
import { insertWebhook } from '../../src/features/webhooks/endpoints/webhooks.store.ts';
import { newSigningSecret } from '../../src/features/webhooks/endpoints/webhooks.ts';
import type { Scene } from './scene.ts';

export interface PlantedWebhook {
  endpoint?: string;
  events?: string[];
  status?: 'enabled' | 'disabled';
}

/** Writes an endpoint that nobody connected to, for tests of something else; returns its id. */
export async function plantWebhook(scene: Scene, team: { id: string }, wishes: PlantedWebhook = {}): Promise<string> {
  const { world } = scene.app;
  const id = world.ids.prefixed('wh_');
  const { endpoint = 'https://hooks.test/', events = ['email.sent'], status = 'enabled' } = wishes;
  await insertWebhook(world.db, {
    id,
    team_id: team.id,
    endpoint,
    events: JSON.stringify(events),
    status,
    secret_sealed: newSigningSecret(world, id).sealed,
    previous_secret_sealed: null,
    previous_secret_until: null,
    created_at: scene.clock.now(),
    disabled_at: null,
    disabled_reason: null,
    failing_since: null,
    last_attempt_at: null,
    last_http_status: null,
    last_error: null,
  });
  return id;
}

export interface PlantedEvent {
  type?: string;
  status?: 'pending' | 'attempting' | 'success' | 'failed';
  parked?: boolean;
  /** When it is due; undefined means that it is finished. */
  dueAt?: number;
  attempts?: number;
  lastStatus?: number;
}

/** Writes an event of an endpoint into the outbox, made now and with its body; returns its `msg_` id. */
export async function plantWebhookEvent(
  scene: Scene,
  team: { id: string },
  webhookId: string,
  wishes: PlantedEvent = {},
): Promise<string> {
  const { world } = scene.app;
  const eventId = world.ids.uuid();
  const { type = 'email.sent', status = 'success', parked = false, dueAt, attempts = 0, lastStatus } = wishes;
  const now = scene.clock.now();
  await world.db.run(
    `insert into webhook_events (webhook_id, event_id, team_id, type, status, parked, attempt_count, tries,
      last_http_status, due_at, created_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      webhookId,
      eventId,
      team.id,
      type,
      status,
      parked ? 1 : 0,
      attempts,
      attempts,
      lastStatus ?? null,
      dueAt ?? null,
      now,
    ],
  );
  const at = new Date(now).toISOString();
  const email = { email_id: eventId, from: 'a@example.com', to: ['b@example.org'], subject: 'Planted' };
  const data = { ...email, message_id: '<planted@example.com>', created_at: at };
  const payload = JSON.stringify({ type, created_at: at, data });
  await insertPayloads(world.db, [{ event_id: eventId, team_id: team.id, payload, isOfRecorded: false }]);
  return `msg_${eventId.replaceAll('-', '')}`;
}

export async function plantAttempt(
  scene: Scene,
  place: { webhookId: string; publicId: string },
  wishes: { number?: number; status?: number | null; response?: string | null; error?: string | null } = {},
): Promise<string> {
  const { world } = scene.app;
  const id = world.ids.prefixed('atmpt_');
  const { number = 1, status = 200, response = 'OK', error = null } = wishes;
  await world.db.run(
    `insert into webhook_attempts (webhook_id, event_id, id, attempt_number, http_status_code, response, error,
      duration_ms, sent_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [place.webhookId, toUuid(place.publicId), id, number, status, response, error, 41, scene.clock.now()],
  );
  return id;
}

/** Returns the id of the event with a `msg_` id. */
export const toUuid = (publicId: string): string =>
  publicId.replace(/^msg_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
