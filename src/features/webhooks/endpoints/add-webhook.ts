import { planNamed } from '../../../platform/config/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { presentWebhook } from './present.ts';
import { newSigningSecret } from './signing-secrets.ts';
import { countWebhooks, insertWebhook, type WebhookRow } from './webhooks.store.ts';

export interface NewWebhook {
  endpoint: string;
  events: string[];
}

/** The only answer but a rotation's that holds the whole secret. Flow has read the endpoint and connected to it. */
export async function addWebhook(ctx: Ctx, input: NewWebhook) {
  const { store, teamId } = ctx;
  const id = store.ids.prefixed('wh_');
  const { secret, sealed } = newSigningSecret(store, id);
  const row: WebhookRow = {
    id,
    team_id: teamId,
    endpoint: input.endpoint,
    events: JSON.stringify([...new Set(input.events)]),
    status: 'enabled',
    secret_sealed: sealed,
    previous_secret_sealed: null,
    previous_secret_until: null,
    disabled_at: null,
    disabled_reason: null,
    failing_since: null,
    last_attempt_at: null,
    last_http_status: null,
    last_error: null,
    created_at: store.clock.now(),
  };
  await store.db.tx(async (tx) => {
    await mustAllowWebhook(store, tx, teamId);
    await insertWebhook(tx, row);
  });
  return presentWebhook(store, row, { waiting: 0, parked: 0 }, secret);
}

/** Whether the plan of a team allows one endpoint more; asked again in the transaction that adds it. */
export async function mustAllowWebhook(store: Store, db: Executor, teamId: string): Promise<void> {
  const { webhook_endpoint_limit: limit } = planNamed(store.config, await lockTeam(db, teamId)).plan;
  const count = await countWebhooks(db, teamId);
  if (count < limit) return;
  throw refuse('validation_error', {
    status: 422,
    say: `The plan of this team allows ${limit} webhook endpoints and it has ${count}; delete one first.`,
  });
}
