import type { ClaimDomainRequest } from '../../contract/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { lockTeam, type Ctx } from '../../tenancy/access/index.ts';
import {
  addDomain,
  composeClaimantCopy,
  findDomainByName,
  findOwner,
  planFull,
  readDomainName,
  type DomainRow,
  type MadeDomain,
} from '../domains/index.ts';
import { proofText } from './proof-text.ts';
import { endClaim, insertClaim, latestClaim, type ClaimRow } from './domain-claims.store.ts';
import { presentClaim, type Claim } from './present.ts';
import { CLAIM_DAYS, endingOf } from './state-of.ts';

const DAY_MS = 24 * 3_600_000;
/** 128 random bits: no text that stands in DNS already proves a claim that is made later. */
const PROOF_BYTES = 16;

/** The claim that is open, unchanged, or a new one. It stands beside the team's own copy of the domain. */
export async function claimDomain(ctx: Ctx, input: ClaimDomainRequest): Promise<{ claim: Claim; isNew: boolean }> {
  const { store, teamId } = ctx;
  const name = readDomainName(input.name);
  // Asked twice: now, because making a key takes long, and in the transaction, because others ask at the same time.
  const { own, open } = await standingOf(store, store.db, teamId, name);
  if (open) return open;
  const made = own ? undefined : await composeFor(store, teamId, name, input);
  const done = await store.db.tx(async (tx) => {
    // Claims of one team come one after the other.
    await lockTeam(tx, teamId);
    const now = await standingOf(store, tx, teamId, name);
    if (now.open) return now.open;
    const domain = now.own ?? made?.row;
    // Removed in the meantime, and another copy was not made.
    if (!domain) return undefined;
    if (now.own) mustBeSettingsOf(now.own, input);
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

interface Standing {
  own: DomainRow | undefined;
  open: { claim: Claim; isNew: false } | undefined;
}

/** How a team stands to a name; throws where there is nothing to claim, and says what to do instead. */
async function standingOf(store: Store, db: Executor, teamId: string, name: string): Promise<Standing> {
  const own = await findDomainByName(db, teamId, name);
  if (own && own.held_at !== null) {
    throw refuse('resource_locked', {
      say: `The domain ${name} is verified by this team already; nothing is left to claim.`,
    });
  }
  const latest = own && (await latestClaim(db, teamId, own.id));
  if (own && latest?.status === 'pending' && !endingOf(latest, own, store.clock.now())) {
    return { own, open: { claim: presentClaim(latest, own), isNew: false } };
  }
  if (await findOwner(db, teamId, name)) return { own, open: undefined };
  throw refuse('validation_error', {
    status: 422,
    say: own
      ? `No other team has verified the domain ${name}; verify your own.`
      : `No other team has verified the domain ${name}, so that nothing is to be claimed; register it.`,
  });
}

/** A domain that the team had registered before is claimed as it is. */
function mustBeSettingsOf(own: DomainRow, input: ClaimDomainRequest): void {
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
  const message = `${path}: this team has registered the domain with ${stands}, which is fixed; leave it out, or delete the domain first.`;
  return { path, message };
}

async function openClaim(store: Store, tx: Executor, domain: DomainRow): Promise<ClaimRow> {
  const now = store.clock.now();
  const before = await latestClaim(tx, domain.team_id, domain.id);
  const ending = before && endingOf(before, domain, now);
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
