import type { BodyOf } from '../../../contract/index.ts';
import { offerSample, publicEventId } from '../../../mail/events/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { renderPayload } from './payload.ts';
import { insertPayloads } from './payloads.store.ts';
import { sampleEvent } from './sample-event.ts';
import { findWebhook } from './webhooks.store.ts';

/**
 * Puts a sample where real events wait to be sent. Nothing happened, so that no event is recorded: its body stands from
 * the start, and the node that renders what is due finds it.
 */
export async function triggerWebhook(ctx: Ctx, { type, webhook_id: only }: BodyOf<'triggerWebhook'>) {
  const { store, teamId } = ctx;
  const { event, email } = sampleEvent(type, { ids: store.ids, teamId, at: store.clock.now() });
  const { webhooks, listeners } = await store.db.tx(async (tx) => {
    const named = only === undefined ? undefined : await findWebhook(tx, teamId, only);
    if (only !== undefined && !named) throw notFound('Webhook');
    const payload = renderPayload(event, email);
    await insertPayloads(tx, [{ event_id: event.id, team_id: teamId, payload, isOfRecorded: false }]);
    const taken = await offerSample(tx, event, only);
    if (taken.webhooks.length > 0 || taken.listeners > 0) return taken;
    if (named?.status === 'disabled') throw refused(`The webhook ${named.id} is disabled and is sent nothing.`);
    if (named) throw refused(`The webhook ${named.id} does not take ${type}; add it to its events.`);
    throw refused(`No enabled webhook and no listener takes ${type}; nobody would be sent it.`);
  });
  return { object: 'webhook_trigger' as const, id: publicEventId(event.id), type, webhooks, listeners };
}

const refused = (say: string) => refuse('validation_error', { status: 422, say });
