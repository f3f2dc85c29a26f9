import type { Store } from '../../platform/store.ts';
import { sendingNames } from '../domains/index.ts';
import { chooseSource, describeThrottle, type Throttle } from '../deliver/index.ts';
import { toThrottle } from './throttles.ts';
import { listThrottles, recipientDomainsAmong, type ThrottleRow } from './throttles.store.ts';

/** A delivery as far as limits depend on it. Without `domain_id`, limits of single sending domains are left out. */
export interface WaitingMail {
  destination: string;
  region?: string | undefined;
  domain_id?: string | undefined;
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
  const inForce = (await listThrottles(db)).filter((row) => row.until_at > now);
  if (inForce.length === 0 || mail.length === 0) return () => null;
  const found = await recipientDomainsAmong(db, [...new Set(mail.map(({ destination }) => destination))]);
  const places = new Map(found.map((domain) => [domain.name, domain]));
  const names = await sendingNames(db, [...new Set(mail.flatMap((one) => one.domain_id ?? []))]);
  const senders = new Map(names.map(({ id, name }) => [id, name]));
  const findSource = chooseSource(store);
  return ({ destination, region, domain_id: domainId }) => {
    const sender = senders.get(domainId ?? '');
    const from = region === undefined ? undefined : findSource({ region, senderDomain: sender });
    const place = from?.relay === undefined ? places.get(destination) : { provider: '', servers: from.relay };
    if (!place) return null;
    const concerns = (row: ThrottleRow): boolean =>
      (row.provider === '' ? row.servers === place.servers : row.provider === place.provider) &&
      (row.sender_domain === '' || row.sender_domain === sender) &&
      (row.source === '' || from === undefined || from.relay !== undefined || row.source === from.source);
    const [strictest] = inForce
      .filter(concerns)
      .toSorted((a, b) => STRICTEST_FIRST.indexOf(a.kind) - STRICTEST_FIRST.indexOf(b.kind) || b.until_at - a.until_at);
    const title = config.providers[place.provider]?.title ?? place.servers;
    return strictest ? describeThrottle(title, toThrottle(strictest), now) : null;
  };
}
