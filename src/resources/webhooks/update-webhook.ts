import { notFound } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { parkWhatIsDue } from './disable-webhook.ts';
import { mustBeReachable, readEndpoint } from './read-endpoint.ts';
import { changeWebhook, findWebhook, holdWebhook, setDisabled, setEnabled } from './webhooks.store.ts';

export interface WebhookUpdate {
  endpoint?: string;
  events?: string[];
  status?: 'enabled' | 'disabled';
}

interface Reference {
  object: 'webhook';
  id: string;
}

/** What is not named stays. An endpoint that is enabled again is sent what happens from then on. */
export async function updateWebhook(ctx: Ctx, id: string, input: WebhookUpdate): Promise<Reference> {
  mustReach(ctx.actor, 'full_access');
  const { world, teamId } = ctx;
  const { endpoint, events, status } = input;
  const url = endpoint === undefined ? undefined : readEndpoint(endpoint);
  const found = await findWebhook(world.db, teamId, id);
  if (!found) throw notFound('Webhook');
  if (url) await mustBeReachable(world, url);
  // Before it is enabled: what was due when it was disabled, and is not parked yet, would otherwise be sent after all.
  if (status === 'enabled' && found.status === 'disabled') await parkWhatIsDue(world, id);
  await world.db.tx(async (tx) => {
    const held = await holdWebhook(tx, teamId, id);
    if (!held) throw notFound('Webhook');
    if (endpoint !== undefined || events !== undefined) {
      await changeWebhook(tx, id, {
        endpoint: endpoint ?? held.endpoint,
        events: events === undefined ? held.events : JSON.stringify([...new Set(events)]),
      });
    }
    if (status === 'enabled' && held.status === 'disabled') await setEnabled(tx, id);
    if (status === 'disabled') await setDisabled(tx, id, { reason: 'manual', now: world.clock.now() });
  });
  if (status === 'disabled') await parkWhatIsDue(world, id);
  return { object: 'webhook', id };
}
