import type { Store } from '../../platform/store.ts';
import { sendingNames } from '../domains/index.ts';
import { chooseSource, describeThrottle, findMailStream, type MailStream, type Throttle } from '../deliver/index.ts';
import { explainRests, explainWarmUps, readPools, type EgressPool } from '../egress/index.ts';
import { toThrottle } from './throttles.ts';
import { isInForce, listThrottles, recipientDomainsAmong, type ThrottleRow } from './throttles.store.ts';

/** A delivery as far as limits depend on it. Without `domain_id`, limits of single sending domains are left out. */
export interface WaitingMail {
  destination: string;
  region?: string | undefined;
  domain_id?: string | undefined;
  isMarketing?: boolean | undefined;
  /** The pool that its broadcast chose. */
  pool?: string | null | undefined;
}

/** The strictest limit is named. */
const STRICTEST_FIRST: readonly Throttle['kind'][] = ['suspend', 'rate', 'connections', 'messages_per_connection'];

/**
 * Explains which limit mail waits for, in a sentence, as far as one is in force. A limit of a sending domain is named only
 * for mail of that domain.
 */
export async function explainWaiting(
  store: Pick<Store, 'db' | 'clock' | 'config' | 'dataDir'>,
  mail: readonly WaitingMail[],
): Promise<(one: WaitingMail) => string | null> {
  const { db, clock, config } = store;
  const now = clock.now();
  const inForce = (await listThrottles(db)).filter((row) => isInForce(row, now));
  const { pools, findPool } = readPools(config, { dataDir: store.dataDir, isIpv6Ready: () => false });
  const explainWarmUp = pools.length === 0 ? () => null : await explainWarmUps(store);
  const explainRest = pools.length === 0 ? () => [] : await explainRests(store);
  if ((inForce.length === 0 && pools.length === 0) || mail.length === 0) return () => null;
  const found = await recipientDomainsAmong(db, [...new Set(mail.map(({ destination }) => destination))]);
  const places = new Map(found.map((domain) => [domain.name, domain]));
  const names = await sendingNames(db, [...new Set(mail.flatMap((one) => one.domain_id ?? []))]);
  const senders = new Map(names.map(({ id, name }) => [id, name]));
  const findSource = chooseSource(store);

  /** Explains why mail waits for every source of its pool; null if one of them is free. */
  function explainPool(
    { members }: EgressPool,
    { destination, isMarketing = false }: WaitingMail,
    sender: string | undefined,
  ): string | null {
    const place = places.get(destination);
    const rests = explainRest(
      members.map(({ name }) => name),
      { provider: place?.provider || undefined, servers: place?.servers ?? '', domain: destination },
    );
    // Until the mail servers have been found, only what concerns all receivers is known.
    if (!place) return rests.includes(null) ? null : (rests[0] ?? null);
    const title = config.providers[place.provider]?.title ?? place.servers;
    const reasons = members.map(({ source }, index) => {
      const rest = rests[index] ?? null;
      if (rest !== null) return rest;
      const where = source.relay
        ? { source: `relay ${source.relay.name}`, provider: '', servers: source.relay.name }
        : { ...place, source: source.name };
      const suspension = inForce.find(
        (row) => row.kind === 'suspend' && concerns(row, { ...where, sender, stream: findMailStream({ isMarketing }) }),
      );
      return suspension
        ? describeThrottle(title, toThrottle(suspension, now), now)
        : explainWarmUp(source.name, place.provider, isMarketing);
    });
    return reasons.includes(null) ? null : (reasons[0] ?? null);
  }

  return (one) => {
    const { destination, region, domain_id: domainId } = one;
    const sender = senders.get(domainId ?? '');
    const pool =
      region === undefined
        ? undefined
        : findPool({
            region,
            senderDomain: sender,
            isMarketing: one.isMarketing ?? false,
            pool: one.pool ?? undefined,
          });
    if (pool) return explainPool(pool, one, sender);
    const from = region === undefined ? undefined : findSource({ region, senderDomain: sender });
    const place = from?.relay === undefined ? places.get(destination) : { provider: '', servers: from.relay };
    if (!place) return null;
    const source = from === undefined || from.relay !== undefined ? undefined : from.source;
    const [strictest] = inForce
      .filter((row) => concerns(row, { ...place, source, sender, stream: findMailStream(one) }))
      .toSorted((a, b) => STRICTEST_FIRST.indexOf(a.kind) - STRICTEST_FIRST.indexOf(b.kind) || b.until_at - a.until_at);
    const title = config.providers[place.provider]?.title ?? place.servers;
    return strictest ? describeThrottle(title, toThrottle(strictest, now), now) : null;
  };
}

/** Reports whether a limit holds for mail of a stream from a source, or from any if it is undefined, and from a sending domain. */
const concerns = (
  row: ThrottleRow,
  {
    provider,
    servers,
    source,
    sender,
    stream,
  }: {
    provider: string;
    servers: string;
    source: string | undefined;
    sender: string | undefined;
    stream: MailStream;
  },
): boolean =>
  ((row.provider === '' && row.servers === '') ||
    (row.provider === '' ? row.servers === servers : row.provider === provider)) &&
  (row.sender_domain === '' || row.sender_domain === sender) &&
  (row.stream === '' || row.stream === stream) &&
  (row.source === '' || source === undefined || row.source === source);
