import type { BodyOf } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Config } from '../../platform/config/index.ts';
import type { Db, Page } from '../../platform/db/index.ts';
import type { Meter } from '../../platform/meter/index.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import type { OperatorCtx } from '../../tenancy/access/index.ts';
import { releaseThrottled } from '../queue/index.ts';
import { close } from './breakers.ts';
import { breakerPage, findBreaker, listBreakers, type Breaker } from './breakers.store.ts';
import { applyChanges, describeReason } from './evaluate.ts';

/** The job that judges mail changes a breaker once a minute at most, so that one more attempt is enough. */
const TRIES_MAX = 5;

interface ReleaseCtx extends OperatorCtx {
  services: {
    /** Lets the delivery of this process read the limits that are stored; does nothing in a process without it. */
    syncDelivery(): Promise<void>;
    wakeQueue(): void;
  };
}

/** Lists the breakers that limit mail, newest first. */
export async function getBreakers({ db, config }: Store, page: Page) {
  const { breakers, hasMore } = await breakerPage(db, page);
  return { object: 'list' as const, has_more: hasMore, data: breakers.map((one) => present(one, config)) };
}

/** Ends the limits of a breaker. Outcomes from now on decide whether it trips again. */
export async function releaseBreaker(ctx: ReleaseCtx, id: string, { reason }: BodyOf<'releaseBreaker'>) {
  const { store, services, actor } = ctx;
  const { db, clock, config, log } = store;
  const { before, after } = await closeStored(store, id);
  log.warn({ breaker: before.id, reason: reason.trim(), actor }, 'an operator released a circuit breaker');
  // Delivery must know first, or it would put the mail aside again.
  await services.syncDelivery();
  const senderDomain = before.scope === 'domain' ? before.domainName : '';
  const { provider } = before;
  const deliveries = await releaseThrottled(db, { provider, servers: '', senderDomain, isRelay: false }, clock.now());
  services.wakeQueue();
  return { object: 'breaker_release' as const, id: before.id, deliveries, breaker: present(after, config) };
}

/** Closes a breaker, whatever the job that judges mail makes of it at the same time. */
async function closeStored(store: Store, id: string): Promise<{ before: Breaker; after: Breaker }> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const before = await findBreaker(store.db, id.toLowerCase());
    if (!before || before.state === 'closed') throw notFound('Breaker');
    const after = { ...before, ...close(before, store.clock.now()) };
    if ((await applyChanges(store, [{ before, after, countsAnew: true }])).written > 0) return { before, after };
  }
  throw refuse('resource_locked', {
    say: 'The circuit breaker changed while it was released, and is not released; send the request again.',
  });
}

const present = (one: Breaker, config: Pick<Config, 'breakers' | 'providers'>) => ({
  object: 'breaker' as const,
  id: one.id,
  team_id: one.teamId,
  scope: one.scope,
  domain: one.scope === 'domain' ? one.domainName : null,
  provider: one.provider === '' ? null : one.provider,
  stream: one.stream,
  state: one.state,
  cause: one.cause,
  bad_recipients: one.bad,
  recipients: one.of,
  messages_per_minute: one.rate,
  trips: one.trips,
  since: isoTime(one.trippedAt),
  until: isoTime(one.untilAt),
  reason: describeReason(one, config),
});

/** Says what a breaker does, to whom, until when and why, in a sentence without its full stop. */
export function describeBreaker(
  one: Breaker,
  subject: string,
  { breakers, providers }: Pick<Config, 'breakers' | 'providers'>,
): string {
  const { stream, provider, rate, untilAt, trippedAt } = one;
  const to = provider === '' ? '' : ` to ${providers[provider]?.title ?? provider}`;
  const mail = `${stream === 'marketing' ? 'Marketing' : 'Transactional'} mail from ${subject}${to}`;
  const limit = rate === null ? 'is paused' : `is limited to ${rate} ${rate === 1 ? 'message' : 'messages'} a minute`;
  const times = `until ${isoTime(untilAt)}, since ${isoTime(trippedAt)}`;
  return `${mail} ${limit} ${times}, because ${describeReason(one, { breakers })}`;
}

/** Shows to Prometheus how many breakers limit mail. */
export function measureBreakers({ meter, db }: { meter: Meter; db: Db }): void {
  const states = ['slow', 'paused', 'probing', 'recovering'] as const;
  meter.watch('rasket_breakers', async () => {
    const open = await listBreakers(db, { isOpen: true });
    return states.map((state) => ({
      value: open.filter((one) => one.state === state).length,
      labels: { state },
    }));
  });
}
