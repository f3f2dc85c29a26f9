import { planNamed } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { presentWebhook } from './present.ts';
import { mustBeReachable, readEndpoint } from './read-endpoint.ts';
import { newSigningSecret } from './signing-secrets.ts';
import { countWebhooks, holdPlanOf, insertWebhook, type WebhookRow } from './webhooks.store.ts';

export interface NewWebhook {
  endpoint: string;
  events: string[];
}

/** The only answer but a rotation's that holds the whole secret. */
export async function createWebhook(ctx: Ctx, input: NewWebhook) {
  mustReach(ctx.actor, 'full_access');
  const { world, teamId } = ctx;
  const url = readEndpoint(input.endpoint);
  // Asked twice: now, because a connection takes its time, and in the transaction, because others ask at the same time.
  await mustBeAddable(world, world.db, teamId);
  await mustBeReachable(world, url);
  const { secret, sealed } = newSigningSecret(world);
  const row: WebhookRow = {
    id: world.ids.prefixed('wh_'),
    team_id: teamId,
    endpoint: input.endpoint,
    events: JSON.stringify([...new Set(input.events)]),
    status: 'enabled',
    secret_sealed: sealed,
    previous_secret_sealed: null,
    previous_secret_until: null,
    created_at: world.clock.now(),
  };
  await world.db.tx(async (tx) => {
    await mustBeAddable(world, tx, teamId);
    await insertWebhook(tx, row);
  });
  return presentWebhook(world, row, secret);
}

async function mustBeAddable(world: World, db: Executor, teamId: string): Promise<void> {
  const { webhook_endpoint_limit: limit } = planNamed(world.config, await holdPlanOf(db, teamId)).plan;
  const count = await countWebhooks(db, teamId);
  if (count < limit) return;
  throw refuse('validation_error', {
    status: 422,
    say: `The plan of this team allows ${limit} webhook endpoints and it has ${count}; delete one first.`,
  });
}
