import type { ClaimDomainRequest } from '../../contract/index.ts';
import { refuse, notFound } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import type { Executor } from '../../platform/db/index.ts';
import { lockTeam, type Ctx } from '../../tenancy/access/index.ts';
import {
  addDomain,
  composeClaimantCopy,
  findDomainByName,
  findOwner,
  planFull,
  readDomainName,
  findDomain,
  type DomainRow,
  type MadeDomain,
} from '../domains/index.ts';
import {
  endClaim,
  insertClaim,
  latestClaim,
  type ClaimRow,
  type ClaimStatus,
  type Ending,
} from './domain-claims.store.ts';
import { isoTime } from '../../platform/clock.ts';

/** Prefix of the proof of every claim. */
export const PROOF_LABEL = 'rasket-domain-verification=';

/** Returns the text of a claim's TXT record. A caller that was not shown this claim cannot guess it. */
export const proofText = (secret: string): string => PROOF_LABEL + secret;

const CLAIM_DAYS = 7;

export const END_REASONS = {
  unproven: `The TXT record was not seen within ${CLAIM_DAYS} days.`,
  blocked: `The owner of the domain still used it at the end of the ${CLAIM_DAYS} days.`,
  otherClaim: 'Another team completed its claim of this name first.',
  ownVerification: 'This team verified the domain without the claim.',
  suspended: 'This team is suspended.',
  removed: 'This team removed the domain that the claim was for.',
} as const;

/**
 * Returns how an open claim has ended without anyone's action, undefined if it has not; `domain` is the claimant's
 * copy.
 */
export function deriveEnding(claim: ClaimRow, domain: DomainRow | undefined, now: number): Ending | undefined {
  if (claim.status !== 'pending') return undefined;
  if (!domain) return { status: 'canceled', failure_reason: END_REASONS.removed };
  if (domain.held_at !== null) return { status: 'superseded', failure_reason: END_REASONS.ownVerification };
  if (now < claim.expires_at) return undefined;
  return {
    status: 'expired',
    failure_reason: claim.blocked_reason === null ? END_REASONS.unproven : END_REASONS.blocked,
  };
}

/** Shows a claim that has ended as such, even before its ending has been stored. */
function asOfNow(claim: ClaimRow, domain: DomainRow, now: number): ClaimRow {
  const ending = deriveEnding(claim, domain, now);
  return ending ? { ...claim, ...ending, blocked_reason: null } : claim;
}

const DAY_MS = 24 * 3_600_000;
/** 128 random bits: no text already in DNS can prove a claim that is made later. */
const PROOF_BYTES = 16;

/** Returns the open claim of the team unchanged, or makes one. The team's own copy of the domain is kept. */
export async function claimDomain(ctx: Ctx, input: ClaimDomainRequest): Promise<{ claim: Claim; isNew: boolean }> {
  const { store, teamId } = ctx;
  const name = readDomainName(input.name);
  // Checked twice: now, because making a key takes long, and in the transaction, because of concurrent requests.
  const { own, open } = await loadOwnCopy(store, store.db, teamId, name);
  if (open) return open;
  const made = own ? undefined : await composeFor(store, teamId, name, input);
  const done = await store.db.tx(async (tx) => {
    // Claims of one team come one after the other.
    await lockTeam(tx, teamId);
    const now = await loadOwnCopy(store, tx, teamId, name);
    if (now.open) return now.open;
    const domain = now.own ?? made?.row;
    // Removed in the meantime, and another copy was not made.
    if (!domain) return undefined;
    if (now.own) mustMatchSettings(now.own, input);
    else if (made) await addFor(store, tx, made);
    return { claim: presentClaim(await openClaim(store, tx, domain), domain), isNew: true };
  });
  return done ?? claimDomain(ctx, input);
}

async function composeFor(store: Store, teamId: string, name: string, input: ClaimDomainRequest): Promise<MadeDomain> {
  const full = await planFull(store, store.db, teamId);
  if (full) throw full;
  return composeClaimantCopy(store, teamId, name, input);
}

async function addFor(store: Store, tx: Executor, made: MadeDomain): Promise<void> {
  const full = await planFull(store, tx, made.row.team_id);
  if (full) throw full;
  await addDomain(store, tx, made);
}

interface OwnCopy {
  own: DomainRow | undefined;
  open: { claim: Claim; isNew: false } | undefined;
}

/**
 * Returns the team's own copy of a name and its open claim. Throws if there is nothing to claim, with a message that
 * names the right operation.
 */
async function loadOwnCopy(store: Store, db: Executor, teamId: string, name: string): Promise<OwnCopy> {
  const own = await findDomainByName(db, teamId, name);
  if (own && own.held_at !== null) {
    throw refuse('resource_locked', {
      say: `The domain ${name} is already verified by this team; there is nothing to claim.`,
    });
  }
  const latest = own && (await latestClaim(db, teamId, own.id));
  if (own && latest?.status === 'pending' && !deriveEnding(latest, own, store.clock.now())) {
    return { own, open: { claim: presentClaim(latest, own), isNew: false } };
  }
  if (await findOwner(db, teamId, name)) return { own, open: undefined };
  throw refuse('validation_error', {
    status: 422,
    say: own
      ? `No other team has verified the domain ${name}; verify your own.`
      : `No other team has verified the domain ${name}, so there is nothing to claim; register it.`,
  });
}

/** Refuses other settings for a domain that the team had registered before: it is claimed as it is. */
function mustMatchSettings(own: DomainRow, input: ClaimDomainRequest): void {
  const { region, custom_return_path: label } = input;
  const errors = [
    ...(region === undefined || region === own.region ? [] : [clash('region', own.region)]),
    ...(label === undefined || label.toLowerCase() === own.custom_return_path
      ? []
      : [clash('custom_return_path', own.custom_return_path)]),
  ];
  const [first] = errors;
  if (first) throw refuse('validation_error', { status: 422, say: first.message, errors });
}

function clash(path: string, stands: string) {
  const message = `${path}: this team registered the domain with ${stands}, which cannot be changed; omit the field, or delete the domain first.`;
  return { path, message };
}

async function openClaim(store: Store, tx: Executor, domain: DomainRow): Promise<ClaimRow> {
  const now = store.clock.now();
  const before = await latestClaim(tx, domain.team_id, domain.id);
  const ending = before && deriveEnding(before, domain, now);
  if (ending) await endClaim(tx, before.id, ending, now);
  const claim: ClaimRow = {
    id: store.ids.uuid(),
    team_id: domain.team_id,
    domain_id: domain.id,
    name: domain.name,
    proof: proofText(store.ids.hex(PROOF_BYTES)),
    status: 'pending',
    record_status: 'not_started',
    diagnosis: null,
    blocked_reason: null,
    failure_reason: null,
    created_at: now,
    expires_at: now + CLAIM_DAYS * DAY_MS,
    checked_at: 0,
    concluded_at: null,
  };
  await insertClaim(tx, claim);
  return claim;
}

/** Returns the latest claim of one of the team's domains; makes no look-up and changes nothing. */
export async function getClaim(ctx: Ctx, domainId: string): Promise<Claim> {
  const { claim, domain } = await findClaim(ctx, domainId);
  return presentClaim(claim, domain);
}

export async function findClaim(ctx: Ctx, domainId: string): Promise<{ claim: ClaimRow; domain: DomainRow }> {
  const { store, teamId } = ctx;
  const domain = await findDomain(store.db, teamId, domainId);
  const claim = domain && (await latestClaim(store.db, teamId, domain.id));
  if (!claim) throw notFound('Domain claim');
  return { claim: asOfNow(claim, domain, store.clock.now()), domain };
}

/** Returns the record that an open claim of this domain asks to be published. */
export async function openProof(
  store: Store,
  { id, team_id: teamId }: { id: string; team_id: string },
): Promise<{ name: string; value: string } | undefined> {
  const domain = await findDomain(store.db, teamId, id);
  const claim = domain && (await latestClaim(store.db, teamId, id));
  if (!claim || asOfNow(claim, domain, store.clock.now()).status !== 'pending') return undefined;
  return { name: claim.name, value: claim.proof };
}

export function presentClaim(claim: ClaimRow, domain: DomainRow) {
  return {
    object: 'domain_claim' as const,
    id: claim.id,
    name: claim.name,
    status: claim.status as ClaimStatus,
    domain_id: domain.id,
    region: domain.region,
    record: {
      record: 'Claim' as const,
      // The proof belongs at the root of exactly the name that is claimed.
      name: claim.name,
      type: 'TXT' as const,
      ttl: 'Auto' as const,
      status: claim.record_status,
      value: claim.proof,
      diagnosis: claim.diagnosis,
    },
    blocked_reason: claim.blocked_reason,
    failure_reason: claim.failure_reason,
    created_at: isoTime(claim.created_at),
    expires_at: isoTime(claim.expires_at),
  };
}

export type Claim = ReturnType<typeof presentClaim>;
