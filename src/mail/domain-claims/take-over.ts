import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import {
  composeSwitchedOff,
  findOwner,
  lockDomain,
  lockOwner,
  switchOff,
  takeName,
  type DomainRow,
  type SwitchedOff,
} from '../domains/index.ts';
import { suspendedAmong } from '../../tenancy/teams/index.ts';
import { findBlock } from './claim-blocks.ts';
import { endClaim, lockClaims, saveClaimCheck, supersedeOthers, type ClaimRow } from './domain-claims.store.ts';
import { lockMail } from './owner-activity.store.ts';
import { deriveEnding, END_REASONS } from './domain-claim.ts';

/** How many times the name may pass to yet another team while its keys are made. */
const TRIES = 3;

/** Decisions made before the transaction, in which they would take too long. */
interface Prepared {
  /** The future state of the owner's copy, unless something blocks the claim. */
  off: SwitchedOff | undefined;
}

/**
 * Completes a claim whose proof has just been seen: the domain changes hands in one transaction, or the claim states
 * the reason why not. Of several claims of one name that get here together the database lets one through; the others
 * find it done.
 */
export async function takeOver(store: Store, claim: ClaimRow): Promise<'completed' | 'open'> {
  for (let left = TRIES; left > 0; left--) {
    const prepared = await prepare(store, claim);
    const outcome = await store.db.tx((tx) => decide(store, tx, claim, prepared)).catch(againIfTaken);
    if (outcome !== 'again') return outcome;
  }
  return 'open';
}

/** Another team verified the name at the same moment, so the claim has to be checked once more. */
function againIfTaken(error: unknown): 'again' {
  if (!isUniqueViolation(error)) throw error;
  return 'again';
}

async function prepare(store: Store, claim: ClaimRow): Promise<Prepared> {
  const owner = await findOwner(store.db, claim.team_id, claim.name);
  const isBlocked = owner !== undefined && (await findBlock(store.db, owner, store.clock.now())) !== undefined;
  return { off: owner && !isBlocked ? await composeSwitchedOff(store, owner) : undefined };
}

async function decide(
  store: Store,
  tx: Executor,
  { id, team_id: teamId, name }: ClaimRow,
  prepared: Prepared,
): Promise<'completed' | 'open' | 'again'> {
  const claim = (await lockClaims(tx, name)).find((other) => other.id === id);
  if (!claim) return 'open';
  const now = store.clock.now();
  const domain = await lockDomain(tx, teamId, claim.domain_id);
  const ending =
    deriveEnding(claim, domain, now) ??
    ((await suspendedAmong(tx, [teamId])).length > 0
      ? { status: 'failed' as const, failure_reason: END_REASONS.suspended }
      : undefined);
  if (ending) {
    await endClaim(tx, id, ending, now);
    return 'open';
  }
  const owner = await lockOwner(tx, teamId, name);
  const isRecheck = owner !== undefined && prepared.off?.domainId === owner.id;
  if (isRecheck) await lockMail(tx);
  const blocked = owner && (await findBlock(tx, owner, now, { isRecheck }));
  const seen = { record_status: 'verified' as const, diagnosis: null, checked_at: now };
  await saveClaimCheck(tx, id, { ...seen, blocked_reason: blocked ?? null });
  if (blocked) return 'open';
  if (owner && !(await transferFrom(store, tx, owner, prepared.off))) return 'again';
  await endClaim(tx, id, { status: 'completed', failure_reason: null }, now);
  await supersedeOthers(tx, name, id, END_REASONS.otherClaim, now);
  if (domain) await takeName(store, tx, domain);
  return 'completed';
}

/** Returns false if the prepared copy no longer holds the name. */
async function transferFrom(store: Store, tx: Executor, owner: DomainRow, off?: SwitchedOff): Promise<boolean> {
  if (off?.domainId !== owner.id) return false;
  await switchOff(store, tx, owner, off);
  return true;
}
