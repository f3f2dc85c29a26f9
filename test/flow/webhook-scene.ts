import { recordEvents, type EventType } from '../../src/mail/events/index.ts';
import { madeUp } from '../rig/events.ts';
import type { Scene, Team } from '../rig/scene.ts';

export interface Hook {
  id: string;
  secret: string;
}

/** An endpoint as its team makes it; it has to be reachable. */
export async function hookAt(scene: Scene, team: Team, endpoint: string, events = ['email.sent']): Promise<Hook> {
  const made = await scene.api('POST', '/webhooks', { key: team.key, body: { endpoint, events } });
  if (made.status !== 201) throw new Error(`POST /webhooks answered ${made.status} ${made.text}`);
  return { id: made.body.id as string, secret: made.body.signing_secret as string };
}

/** Records that something happened, as a stage would; answers the ids of the events. */
export async function happen(
  scene: Scene,
  team: { id: string },
  count = 1,
  type: EventType = 'email.sent',
  isBulk = false,
): Promise<string[]> {
  const { world } = scene.app;
  const at = world.clock.now();
  const data = type === 'email.bounced' ? { bounce: { type: 'Permanent' } } : {};
  const events = Array.from({ length: count }, () => {
    const event = madeUp({ teamId: team.id, type, subjectId: world.ids.uuid(), at, data });
    return { ...event, id: world.ids.uuid(), isBulk };
  });
  await world.db.tx((tx) => recordEvents(tx, world.ids, events));
  return events.map((event) => event.id);
}

export const publicId = (eventId: string): string => `msg_${eventId.replaceAll('-', '')}`;

export interface OutboxRow {
  event_id: string;
  status: string;
  parked: number;
  attempt_count: number;
  tries: number;
  last_http_status: number | null;
  due_at: number | null;
}

/** Returns the rows in the outbox of an endpoint, oldest first. */
export const loadOutbox = (scene: Scene, webhookId: string): Promise<OutboxRow[]> =>
  scene.app.world.db.all<OutboxRow>(
    `select event_id, status, parked, attempt_count, tries, last_http_status, due_at from webhook_events
      where webhook_id = ? order by event_id`,
    [webhookId],
  );

/** Moves the clock to the time at which the endpoint's next event is due; answers how long that was. */
export async function advanceToNextTry(scene: Scene, webhookId: string): Promise<number> {
  const rows = await loadOutbox(scene, webhookId);
  const dueAt = Math.min(...rows.map((row) => row.due_at ?? Infinity));
  const waitMs = dueAt - scene.clock.now();
  scene.clock.advance(waitMs);
  await scene.settled();
  return waitMs;
}
