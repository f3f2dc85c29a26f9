import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { claimAsk, type DomainRow } from './domains.store.ts';

/** Verification and a new key share one call a minute for each domain: the one makes questions to DNS, the other a key. */
export async function mustWaitItsTurn(world: World, domain: DomainRow): Promise<void> {
  const now = world.clock.now();
  const { verify_seconds: seconds } = world.config.domains;
  if (await claimAsk(world.db, domain.team_id, domain.id, now, seconds * 1000)) return;
  const waitMs = Math.max(1, (domain.asked_at ?? now) + seconds * 1000 - now);
  throw refuse('rate_limit_exceeded', {
    say: `A domain can be verified or given a new key once in ${seconds} seconds; try again later.`,
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  });
}
