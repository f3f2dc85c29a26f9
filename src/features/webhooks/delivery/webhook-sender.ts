import { createGroupCommit } from '../../../platform/db/index.ts';
import { createSlotPool } from '../../../platform/limits/index.ts';
import {
  createLeasedLoop,
  createUnleasedLoop,
  type Claim,
  type Claimed,
  type Lease,
  type LeasedLoop,
  type WorkLoop,
} from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world.ts';
import { endpointLeases, leaseEndpoints, noteNotified } from '../endpoints/webhooks.store.ts';
import { mailOnce, type Accept } from '../../../mail/accept/index.ts';
import { createAttemptWriter, createEndpoints, UnusableEndpoint, type Endpoints } from './attempt.ts';
import { createDisableFailing, EndpointSender, createPayloads, type SenderParts } from './endpoint-sender.ts';
import { endpointsWithWork, nextDueAt, untold, type DisabledEndpoint } from './endpoints.store.ts';
import { isoTime } from '../../../platform/clock.ts';
import { noticeDomain } from '../../../mail/domains/index.ts';

/** Interval for finding endpoints that another process disabled. */
const POLL_MS = 10_000;
/** Number of mails that are composed at the same time. */
const AT_ONCE = 10;

/**
 * Mails a team's admins that an endpoint was disabled, once, through accept like all mail and from a domain of the
 * team's own: the owner of a mail's domain can read it in the API, and a team must not learn of another's endpoints. A
 * notice that cannot be mailed is logged, so that the operator learns of it.
 */
export function createAdminNotices(world: World, accept: Pick<Accept, 'acceptEmail'>): WorkLoop {
  const failed = new Set<string>();
  const { db, clock, log } = world;
  return createUnleasedLoop<DisabledEndpoint>({
    name: 'notices to admins',
    db,
    clock,
    log,
    pollMs: POLL_MS,
    atOnceMax: AT_ONCE,
    wakeOn: [],
    // Failed notices are retried last, so that AT_ONCE failures do not block the others.
    due: async () =>
      (await untold(db)).toSorted((one, other) => Number(failed.has(one.id)) - Number(failed.has(other.id))),
    async process(endpoint) {
      failed.add(endpoint.id);
      await notifyAdmins(world, accept, endpoint);
      failed.delete(endpoint.id);
    },
    describe: ({ id }) => ({ webhookId: id }),
  });
}

async function notifyAdmins(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  endpoint: DisabledEndpoint,
): Promise<void> {
  const fault = await send(world, accept, endpoint);
  if (fault !== undefined) {
    const { id: webhookId, team_id: teamId } = endpoint;
    world.log.error(
      { webhookId, teamId, host: extractHost(endpoint) },
      `a webhook was disabled and no admin could be notified: ${fault}`,
    );
  }
  await noteNotified(world.db, endpoint.id, world.clock.now());
}

/** Mails the admins; returns the reason if none could be notified. */
async function send(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  endpoint: DisabledEndpoint,
): Promise<string | undefined> {
  const to = endpoint.admin_emails === null ? [] : (JSON.parse(endpoint.admin_emails) as string[]);
  if (to.length === 0) return 'the team has no admin addresses; set them with rasket teams update --admin';
  const domain = await noticeDomain(world.db, endpoint.team_id);
  if (domain === undefined) return 'the team has no verified domain to send from';
  const input = { from: `rasket <notifications@${domain}>`, to, ...composeNotice(endpoint) };
  return mailOnce(world, accept, {
    teamId: endpoint.team_id,
    job: 'admin-notices',
    input,
    kind: 'webhook-disabled',
    occasion: `${endpoint.id} ${endpoint.disabled_at}`,
  });
}

/** Returns the host only, because paths and query strings of webhooks hold secrets that mail and log must not show. */
const extractHost = ({ endpoint }: DisabledEndpoint): string => URL.parse(endpoint)?.host ?? '';

function composeNotice(endpoint: DisabledEndpoint) {
  const { id, disabled_at: disabledAt, failing_since: failingSince } = endpoint;
  const host = extractHost(endpoint);
  const since = isoTime(failingSince ?? disabledAt);
  return {
    subject: `Webhook disabled: ${host}`,
    text: [
      `The webhook endpoint ${id} at ${host} was disabled at ${isoTime(disabledAt)}.`,
      ...(failingSince === null ? [] : [`No delivery to it has succeeded since ${since}.`]),
      '',
      'Events for this endpoint are still recorded, but they are not sent. When the endpoint works again, enable it:',
      `  rasket webhooks update ${id} --status enabled`,
      'New events are then sent again. To also send the events that were not delivered, replay them:',
      `  rasket webhooks replay --failed --parked --since ${since} --webhook ${id}`,
      'Parked events happened while the endpoint was disabled, or were waiting for their next attempt when it was disabled.',
      'Failed events have had all ten attempts.',
    ].join('\n'),
  };
}

const DEFER_MS = 60_000;
const FORGET_MS = 10 * DEFER_MS;

/** Endpoints that cannot be used because of an internal error: each is tried again after a minute, and logged once. */
class DeferredEndpoints {
  readonly #world: Pick<World, 'clock' | 'log'>;
  readonly #deferred = new Map<string, { until: number; reason: string }>();

  constructor(world: Pick<World, 'clock' | 'log'>) {
    this.#world = world;
  }

  add(id: string, error: Error): void {
    const now = this.#world.clock.steady();
    for (const [known, { until }] of this.#deferred) if (until + FORGET_MS < now) this.#deferred.delete(known);
    const isKnown = this.#deferred.get(id)?.reason === error.message;
    this.#deferred.set(id, { until: now + DEFER_MS, reason: error.message });
    if (!isKnown) this.#world.log.error({ err: error, webhookId: id }, 'a webhook cannot be sent to and is paused');
  }

  has(id: string): boolean {
    return (this.#deferred.get(id)?.until ?? 0) > this.#world.clock.steady();
  }

  /** Retries all of them, as a change may have fixed them. */
  retry(): void {
    for (const entry of this.#deferred.values()) entry.until = 0;
  }
}

export interface WebhookSender {
  start(): Promise<void>;
  /** Sends nothing more, gives attempts in progress `graceMs` to end, and releases every endpoint. */
  stop(graceMs: number): Promise<void>;
  /** Resolves when nothing that can be sent is due and nothing is in progress. */
  idle(): Promise<void>;
}

const ENDPOINTS_PER_POLL = 5000;
/**
 * Delay between polls, which step into the index once for each endpoint: with thousands of endpoints, not every commit
 * causes one.
 */
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
    name: 'webhooks',
    wakeOn: [WORK_TABLE],
    pollMs,
    rest: REST,
    claim,
    process: runSender,
    renewed,
    describe: ({ id }) => ({ webhookId: id }),
    lease: { owner, ms: leaseSeconds * 1000, leases: endpointLeases(db) },
  });
  return loop;

  /** Wakes the running senders, and leases free endpoints. */
  async function claim({ inFlight }: Claim<EndpointSender>, lease: Lease): Promise<Claimed<EndpointSender>> {
    const { now, until } = lease;
    const ids = await endpointsWithWork(db, { owner, now, limit: ENDPOINTS_PER_POLL });
    const running = new Map(inFlight.map((sender) => [sender.id, sender]));
    const free = ids.filter((id) => !running.has(id) && !deferred.has(id));
    const leased = await leaseEndpoints(db, free, lease);
    // An endpoint whose sender has just ended is claimed once that sender is removed.
    const ended = ids.filter((id) => running.get(id)?.wake() === false);
    const items = [...leased].map((id) => new EndpointSender(id, until, parts));
    return { items, left: ended.length > 0 ? 'blocked' : 'nothing', nextAt: () => nextDueAt(db, { owner, now }) };
  }

  async function runSender(sender: EndpointSender, signal: AbortSignal): Promise<void> {
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
    // An endpoint whose events have all had their ten attempts fails no more, but still has no success.
    await disableFailing();
  }
}
