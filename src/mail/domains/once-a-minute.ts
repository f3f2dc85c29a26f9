import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { claimAsk, type DomainRow } from './domains.store.ts';

/** Verification and a new key share one call a minute for each domain: the one makes questions to DNS, the other a key. */
export async function mustWaitItsTurn(store: Store, domain: DomainRow): Promise<void> {
  const now = store.clock.now();
  const { verify_seconds: seconds } = store.config.domains;
  if (await claimAsk(store.db, domain.team_id, domain.id, now, seconds * 1000)) return;
  const waitMs = Math.max(1, (domain.asked_at ?? now) + seconds * 1000 - now);
  throw refuse('rate_limit_exceeded', {
    say: `A domain can be verified or given a new key once in ${seconds} seconds; try again later.`,
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  });
}
