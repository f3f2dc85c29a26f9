import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import {
  checkDomain,
  composeSwitchedOff,
  findDomain,
  findHolder,
  holdDomain,
  holdHolder,
  switchOff,
  takeName,
  type DomainRow,
  type SwitchedOff,
} from '../domains/index.ts';
import { suspendedAmong } from '../teams/index.ts';
import { blockOf } from './blocks.ts';
import { concludeClaim, holdClaimsOf, noteLook, supersedeOthers, type ClaimRow } from './domain-claims.store.ts';
import { holdMail } from './owner-activity.store.ts';
import { endingOf, WHY } from './state-of.ts';

/** How often the name may pass to yet another team while its keys are made. */
const TRIES = 3;

/** What is decided before the transaction: it would take too long in it. */
interface Prepared {
  /** The holder's copy as it will be, unless something blocks the claim. */
  off: SwitchedOff | undefined;
}

/**
 * For a claim whose proof has just been seen: the domain changes hands in one transaction, or the claim says why not. Of
 * several claims of one name that arrive here together the database lets one through; the others find it done.
 */
export async function takeOver(world: World, claim: ClaimRow): Promise<'completed' | 'open'> {
  for (let left = TRIES; left > 0; left--) {
    const prepared = await prepare(world, claim);
    const outcome = await world.db.tx((tx) => decide(world, tx, claim, prepared)).catch(againIfTaken);
    if (outcome === 'again') continue;
    if (outcome === 'completed') await checkClaimant(world, claim);
    return outcome;
  }
  return 'open';
}

/** Somebody else has verified the name in the same moment, and it must be asked once more whether it can be taken. */
function againIfTaken(error: unknown): 'again' {
  if (!isUniqueViolation(error)) throw error;
  return 'again';
}

/** Its records may stand in DNS already; if they cannot be asked for now, the sweep does. */
async function checkClaimant(world: World, { team_id: teamId, domain_id: id, name }: ClaimRow): Promise<void> {
  try {
    const domain = await findDomain(world.db, teamId, id);
    if (domain) await checkDomain(world, domain);
  } catch (error) {
    world.log.warn({ err: error, domain: name }, 'a domain that changed hands could not be checked');
  }
}

async function prepare(world: World, claim: ClaimRow): Promise<Prepared> {
  const holder = await findHolder(world.db, claim.team_id, claim.name);
  const isBlocked = holder !== undefined && (await blockOf(world.db, holder, world.clock.now())) !== undefined;
  return { off: holder && !isBlocked ? await composeSwitchedOff(world, holder) : undefined };
}

async function decide(
  world: World,
  tx: Executor,
  { id, team_id: teamId, name }: ClaimRow,
  prepared: Prepared,
): Promise<'completed' | 'open' | 'again'> {
  const claim = (await holdClaimsOf(tx, name)).find((other) => other.id === id);
  if (!claim) return 'open';
  const now = world.clock.now();
  const domain = await holdDomain(tx, teamId, claim.domain_id);
  const ending =
    endingOf(claim, domain, now) ??
    ((await suspendedAmong(tx, [teamId])).length > 0
      ? { status: 'failed' as const, failure_reason: WHY.suspended }
      : undefined);
  if (ending) {
    await concludeClaim(tx, id, ending, now);
    return 'open';
  }
  const holder = await holdHolder(tx, teamId, name);
  const isSecondLook = holder !== undefined && prepared.off?.domainId === holder.id;
  if (isSecondLook) await holdMail(tx);
  const blocked = holder && (await blockOf(tx, holder, now, { isSecondLook }));
  const seen = { record_status: 'verified' as const, diagnosis: null, checked_at: now };
  await noteLook(tx, id, { ...seen, blocked_reason: blocked ?? null });
  if (blocked) return 'open';
  if (holder && !(await handOver(world, tx, holder, prepared.off))) return 'again';
  await concludeClaim(tx, id, { status: 'completed', failure_reason: null }, now);
  await supersedeOthers(tx, name, id, WHY.otherClaim, now);
  if (domain) await takeName(tx, world, domain);
  return 'completed';
}

/** Answers false if the copy that was prepared is not the one that holds the name by now. */
async function handOver(world: World, tx: Executor, holder: DomainRow, off?: SwitchedOff): Promise<boolean> {
  if (off?.domainId !== holder.id) return false;
  await switchOff(tx, world, holder, off);
  return true;
}
