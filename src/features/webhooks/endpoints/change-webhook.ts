import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { parkWhatIsDue } from './disable-webhook.ts';
import { findWebhook, lockWebhook, saveSettings, setDisabled, setEnabled } from './webhooks.store.ts';

export interface WebhookUpdate {
  endpoint?: string;
  events?: string[];
  status?: 'enabled' | 'disabled';
}

interface Reference {
  object: 'webhook';
  id: string;
}

/**
 * What is not named stays. An endpoint that is enabled again is sent what happens from then on. Flow has connected to a
 * new address.
 */
export async function changeWebhook(ctx: Ctx, id: string, input: WebhookUpdate): Promise<Reference> {
  const { store, teamId } = ctx;
  const { endpoint, events, status } = input;
  const found = await findWebhook(store.db, teamId, id);
  if (!found) throw notFound('Webhook');
  // Before it is enabled: what was due when it was disabled, and is not parked yet, would otherwise be sent after all.
  if (status === 'enabled' && found.status === 'disabled') await parkWhatIsDue(store, id);
  await store.db.tx(async (tx) => {
    const locked = await lockWebhook(tx, teamId, id);
    if (!locked) throw notFound('Webhook');
    if (endpoint !== undefined || events !== undefined) {
      await saveSettings(tx, id, {
        endpoint: endpoint ?? locked.endpoint,
        events: events === undefined ? locked.events : JSON.stringify([...new Set(events)]),
      });
    }
    if (status === 'enabled' && locked.status === 'disabled') await setEnabled(tx, id);
    if (status === 'disabled') await setDisabled(tx, id, { reason: 'manual', now: store.clock.now() });
  });
  if (status === 'disabled') await parkWhatIsDue(store, id);
  return { object: 'webhook', id };
}
