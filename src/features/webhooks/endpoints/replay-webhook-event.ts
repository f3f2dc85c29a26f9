import { eventIdOf } from '../../../mail/events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { makeDue, noteReplay, replaysSince } from './webhook-events.store.ts';
import { lockWebhook } from './webhooks.store.ts';

const REPLAYS_MAX = 10;
const WINDOW_MS = 60_000;

/**
 * Sends an event once more, with its id and its bytes and from the first try of the schedule. A replay that is refused
 * counts towards no limit; those that count are counted in the database, for all nodes together.
 */
export async function replayWebhookEvent(
  ctx: Ctx,
  webhookId: string,
  publicId: string,
): Promise<{ object: 'webhook_event'; id: string }> {
  const { store, teamId } = ctx;
  const eventId = eventIdOf(publicId);
  await store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    const webhook = await lockWebhook(tx, teamId, webhookId);
    if (!webhook || eventId === undefined) throw notFound('Webhook event');
    const now = store.clock.now();
    if (!(await makeDue(tx, webhookId, eventId, now))) throw notFound('Webhook event');
    if (webhook.status === 'disabled') throw disabled(webhookId);
    await mustBeWithinLimit(tx, teamId, now);
    await noteReplay(tx, { teamId, id: store.ids.uuid(), at: now, since: now - WINDOW_MS });
  });
  return { object: 'webhook_event', id: publicId };
}

async function mustBeWithinLimit(tx: Executor, teamId: string, now: number): Promise<void> {
  const made = await replaysSince(tx, teamId, now - WINDOW_MS);
  if (made.length < REPLAYS_MAX) return;
  const freeAt = (made.at(-REPLAYS_MAX) ?? now) + WINDOW_MS;
  const retryAfterSeconds = Math.min(WINDOW_MS / 1000, Math.max(1, Math.ceil((freeAt - now) / 1000)));
  throw refuse('rate_limit_exceeded', {
    say: `A team may replay ${REPLAYS_MAX} events a minute. Try again in ${retryAfterSeconds} s.`,
    retryAfterSeconds,
  });
}

const disabled = (id: string) =>
  refuse('validation_error', {
    status: 422,
    say: `The webhook ${id} is disabled and is sent nothing; enable it before replaying its events.`,
  });
