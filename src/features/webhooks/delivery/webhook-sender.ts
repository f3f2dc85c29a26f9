import { createGroupCommit } from '../../../platform/db/index.ts';
import { createSlotPool } from '../../../platform/fair-share/index.ts';
import {
  createLeasedLoop,
  type Claim,
  type Claimed,
  type Lease,
  type LeasedLoop,
} from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { endpointLeases, leaseEndpoints } from '../endpoints/index.ts';
import type { Accept } from '../../../mail/accept/index.ts';
import { createAdminNotices } from './admin-notices.ts';
import { createAttemptWriter } from './attempt-writer.ts';
import { DeferredEndpoints } from './deferred-endpoints.ts';
import { createDisableFailing } from './disable-failing.ts';
import { EndpointSender, type SenderParts } from './endpoint-sender.ts';
import { endpointsWithWork, nextDueAt } from './endpoints.store.ts';
import { createEndpoints, UnusableEndpoint, type Endpoints } from './open-endpoint.ts';
import { createPayloads } from './payloads.ts';

export interface WebhookSender {
  start(): Promise<void>;
  /** Sends nothing more, gives attempts under way `graceMs` to end, and releases every endpoint. */
  stop(graceMs: number): Promise<void>;
  /** Resolves when nothing that can be sent is due and nothing is under way. */
  idle(): Promise<void>;
}

const ENDPOINTS_PER_LOOK = 5000;
/** A look steps into the index once for each endpoint: with thousands of endpoints, not every commit causes one. */
const REST = { perLook: 4, msMax: 250 };
/** A commit that writes this table wakes the loop; events that no endpoint subscribes to do not. */
const WORK_TABLE = 'webhook_events';
/** A commit that writes these tables may change what is sent, and to which endpoint. */
const ENDPOINT_TABLES = ['webhooks', 'teams'];

/**
 * Sends the events in the outboxes. Each endpoint is leased by one process at a time; this loop finds those with work
 * and leases them, and an EndpointSender sends to each.
 */
export function createWebhookSender(world: World, accept: Pick<Accept, 'acceptEmail'>): WebhookSender {
  const { db } = world;
  // These commits do not wait for the disk: after a power cut, payloads and attempts are made again, under the same id
  // and with the same bytes.
  const commits = createGroupCommit({ tx: db.txUnsynced });
  const endpoints = createEndpoints(world);
  const deferred = new DeferredEndpoints(world);
  const notices = createAdminNotices(world, accept);
  const loop = createEndpointLoop(endpoints, deferred, {
    world,
    owner: world.ids.uuid(),
    disableFailing: createDisableFailing(world, () => notices.wake()),
    open: endpoints.open,
    slots: createSlotPool(world.config.webhooks.max_in_flight),
    payloads: createPayloads(world, commits),
    write: createAttemptWriter(world, commits),
  });

  function endpointsChanged(): void {
    for (const sender of loop.items()) sender.reread();
    deferred.retry();
    loop.wake();
  }

  let stopListening: (() => void)[] = [];
  return {
    async start() {
      stopListening = ENDPOINT_TABLES.map((table) => db.onCommit(table, endpointsChanged));
      await loop.start();
      notices.start();
    },
    async stop(graceMs) {
      for (const end of stopListening) end();
      await Promise.all([loop.stop(graceMs), notices.stop(graceMs)]);
      await endpoints.close();
    },
    async idle() {
      await loop.idle();
      // A notice of a disabled endpoint is an email, and its events may be due to other endpoints.
      await notices.idle();
      await loop.idle();
    },
  };
}

function createEndpointLoop(
  endpoints: Endpoints,
  deferred: DeferredEndpoints,
  parts: SenderParts,
): LeasedLoop<EndpointSender> {
  const { world, owner, disableFailing } = parts;
  const { db } = world;
  const { poll_ms: pollMs, lease_seconds: leaseSeconds } = world.config.webhooks;
  const loop: LeasedLoop<EndpointSender> = createLeasedLoop<EndpointSender>(world, {
    ...{ name: 'webhooks', wakeOn: [WORK_TABLE], pollMs, rest: REST, claim, carry, renewed },
    describe: ({ id }) => ({ webhookId: id }),
    lease: { owner, ms: leaseSeconds * 1000, leases: endpointLeases(db) },
  });
  return loop;

  /** Wakes the senders under way, and leases endpoints that are free. */
  async function claim({ inFlight }: Claim<EndpointSender>, lease: Lease): Promise<Claimed<EndpointSender>> {
    const { now, until } = lease;
    const ids = await endpointsWithWork(db, { owner, now, limit: ENDPOINTS_PER_LOOK });
    const running = new Map(inFlight.map((sender) => [sender.id, sender]));
    const free = ids.filter((id) => !running.has(id) && !deferred.has(id));
    const leased = await leaseEndpoints(db, free, lease);
    // An endpoint whose sender has just ended is claimed when that is gone.
    const ended = ids.filter((id) => running.get(id)?.wake() === false);
    const items = [...leased].map((id) => new EndpointSender(id, until, parts));
    return { items, left: ended.length > 0 ? 'blocked' : 'nothing', nextAt: () => nextDueAt(db, { owner, now }) };
  }

  async function carry(sender: EndpointSender, signal: AbortSignal): Promise<void> {
    try {
      await sender.run(() => loop.state() === 'stopping', signal);
    } catch (error) {
      if (!(error instanceof UnusableEndpoint)) throw error;
      // Another process may be able to send to it: one with the right instance key.
      deferred.add(sender.id, error);
    }
  }

  async function renewed(senders: readonly EndpointSender[], kept: ReadonlySet<string>, until: number): Promise<void> {
    endpoints.closeAllBut(new Set(senders.map(({ id }) => id)));
    for (const sender of senders) sender.leasedUntil = kept.has(sender.id) ? until : 0;
    // An endpoint whose events have all had their ten attempts fails no more, but is still without a success.
    await disableFailing();
  }
}
