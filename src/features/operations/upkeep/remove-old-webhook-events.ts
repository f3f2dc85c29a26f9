import { rest, stopwatch } from '../../../platform/clock/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import {
  deletedWebhooks,
  halfParkedWebhooks,
  parkWhatIsDue,
  removeEmptyWebhook,
  removePayloads,
  removeWebhookEvents,
  teamsWithOldWebhookEvents,
  webhooksOf,
} from '../../webhooks/endpoints/index.ts';
import { expiriesOf, type Expiry } from './expiries.ts';
import { createRoundRobin, pickTeams } from './round-robin.ts';

export interface WebhooksRemoved {
  /** Endpoints that were deleted and are empty now. */
  webhooks: number;
  events: number;
  payloads: number;
}

/** Rows a transaction takes: events that are recorded meanwhile wait for one of these, which is a few milliseconds. */
const BATCH = 200;
/** How long a run, which begins every minute, goes on while there is something to remove. */
const BUDGETS = { deletedMs: 10_000, expiredMs: 40_000 };
/** A transaction that saw the endpoint before it was deleted may still add an event, and ends within seconds. */
const LATE_MS = 3_600_000;

/**
 * Removes webhook events, their attempts and their bodies when they are older than the plan of their team keeps them, and
 * everything of endpoints that were deleted. Never what is still due. A run removes what there is within its time, at
 * half speed, so that what is recorded meanwhile gets its turns; it may be interrupted anywhere, and the next one goes on.
 */
export function createWebhookRemoval(
  store: Store,
  budgets = BUDGETS,
): (stopping?: AbortSignal) => Promise<WebhooksRemoved> {
  const roundRobinTeams = createRoundRobin(Infinity);
  const roundRobinDeleted = createRoundRobin(Infinity);

  return async (stopping) => {
    const removed: WebhooksRemoved = { webhooks: 0, events: 0, payloads: 0 };
    for (const id of await halfParkedWebhooks(store.db)) await parkWhatIsDue(store, id);
    const deleted = (await deletedWebhooks(store.db)).map((id) => ({ teamId: id }));
    await roundRobinDeleted(
      deleted,
      ({ teamId: id }) => restingAfter(() => removeDeleted(id, removed)),
      within(budgets.deletedMs, stopping),
    );
    const teams = await pickTeams(await expiriesOf(store), (some) => teamsWithOldWebhookEvents(store.db, some));
    await roundRobinTeams(
      teams,
      (team) => restingAfter(() => removeExpired(team, removed)),
      within(budgets.expiredMs, stopping),
    );
    return removed;
  };

  /** Answers whether there may be more of it. */
  async function removeDeleted(id: string, removed: WebhooksRemoved): Promise<boolean> {
    const events = await removeBatch(id, undefined);
    removed.events += events;
    if (events === BATCH) return true;
    if (await removeEmptyWebhook(store.db, id, store.clock.now() - LATE_MS)) removed.webhooks++;
    return false;
  }

  async function removeExpired(team: Expiry, removed: WebhooksRemoved): Promise<boolean> {
    for (const id of await webhooksOf(store.db, team.teamId)) {
      const events = await removeBatch(id, team.beforeId);
      removed.events += events;
      if (events === BATCH) return true;
    }
    const payloads = await removePayloads(store.db, team, BATCH);
    removed.payloads += payloads;
    return payloads === BATCH;
  }

  function removeBatch(id: string, beforeId: string | undefined): Promise<number> {
    return store.db.tx((tx) => removeWebhookEvents(tx, id, { beforeId, limit: BATCH }));
  }
}

/** Answers whether the time that begins now is over, or the process is about to end. */
function within(budgetMs: number, stopping: AbortSignal | undefined): () => boolean {
  const elapsedMs = stopwatch();
  return () => stopping?.aborted === true || elapsedMs() >= budgetMs;
}

/** A batch, and as much time for everybody else. */
async function restingAfter(batch: () => Promise<boolean>): Promise<boolean> {
  const elapsedMs = stopwatch();
  const isMore = await batch();
  if (isMore) await rest(elapsedMs());
  return isMore;
}
