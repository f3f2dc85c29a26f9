import type { World } from '../../platform/world/index.ts';
import { parkWhatIsDue } from '../../resources/webhooks/index.ts';
import { expiriesOf, type Expiry } from './expiries.ts';
import { createTurns, pickTeams } from './take-turns.ts';
import {
  deletedWebhooks,
  halfParkedWebhooks,
  removeEmptyWebhook,
  removePayloads,
  removeWebhookEvents,
  teamsWithOldWebhookEvents,
  webhooksOf,
} from './webhook-events.store.ts';

export interface WebhooksRemoved {
  /** Endpoints that were deleted and are empty now. */
  webhooks: number;
  events: number;
  payloads: number;
}

/** Rows a transaction takes: events that are recorded meanwhile wait for one of these, which is a few milliseconds. */
const BATCH = 200;
/** Batches a run takes of each kind, and it runs every minute: twenty thousand events. */
const BATCHES_MAX = 100;
/** A transaction that saw the endpoint before it was deleted may still add an event, and ends within seconds. */
const LATE_MS = 3_600_000;

/**
 * Removes webhook events, their attempts and their bodies when they are older than the plan of their team keeps them, and
 * everything of endpoints that were deleted. Never what is still due. A run does a part of it; it may be interrupted
 * anywhere, and the next one goes on.
 */
export function createWebhookRemoval(world: World): () => Promise<WebhooksRemoved> {
  const takeTeams = createTurns(BATCHES_MAX);
  const takeDeleted = createTurns(BATCHES_MAX);

  return async () => {
    const removed: WebhooksRemoved = { webhooks: 0, events: 0, payloads: 0 };
    for (const id of await halfParkedWebhooks(world.db)) await parkWhatIsDue(world, id);
    const deleted = (await deletedWebhooks(world.db)).map((id) => ({ teamId: id }));
    await takeDeleted(deleted, ({ teamId: id }) => removeDeleted(id, removed));
    const teams = await pickTeams(await expiriesOf(world), (some) => teamsWithOldWebhookEvents(world.db, some));
    await takeTeams(teams, (team) => removeExpired(team, removed));
    return removed;
  };

  /** Answers whether there may be more of it. */
  async function removeDeleted(id: string, removed: WebhooksRemoved): Promise<boolean> {
    const events = await removeBatch(id, undefined);
    removed.events += events;
    if (events === BATCH) return true;
    if (await removeEmptyWebhook(world.db, id, world.clock.now() - LATE_MS)) removed.webhooks++;
    return false;
  }

  async function removeExpired(team: Expiry, removed: WebhooksRemoved): Promise<boolean> {
    for (const id of await webhooksOf(world.db, team.teamId)) {
      const events = await removeBatch(id, team.beforeId);
      removed.events += events;
      if (events === BATCH) return true;
    }
    const payloads = await removePayloads(world.db, team, BATCH);
    removed.payloads += payloads;
    return payloads === BATCH;
  }

  function removeBatch(id: string, beforeId: string | undefined): Promise<number> {
    return world.db.tx((tx) => removeWebhookEvents(tx, id, { beforeId, limit: BATCH }));
  }
}
