import { isUniqueViolation, type Executor } from '../../../platform/db/index.ts';
import { invalidField, notFound, refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { parseDomainName } from '../../../protocol/address/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { mustBeOwnTeam } from '../../../tenancy/members/index.ts';
import {
  findConnection,
  findSsoDomain,
  insertSsoDomain,
  removeSsoDomain as removeRow,
  saveDomainCheck,
  listSsoDomains,
  loseProof,
  removeSsoDomain as removeSsoDomainRow,
  type SsoDomainRow,
} from '../../../tenancy/sso-rows/index.ts';
import { lockAsOwner, noConnection, presentSsoDomain, buildProofName, endSsoAccess } from './sso-connection.ts';
import { audited, describeActor } from '../../../tenancy/audit/index.ts';
import { findNamedTeam, type TeamRow } from '../../../tenancy/teams/index.ts';
import { domainOfAddress } from './admit.ts';

const DOMAINS_MAX = 50;
/** 128 random bits: no text that is already in DNS can prove a domain that is added later. */
const PROOF_BYTES = 16;
export const PROOF_LABEL = 'rasket-sso=';
/** RFC 1035 §2.3.4. */
const DNS_NAME_CHARS_MAX = 253;

export async function addSsoDomain(ctx: Ctx, named: string, input: { domain: string }) {
  mustBeOwnTeam(ctx, named);
  const { store, teamId } = ctx;
  const domain = readDomain(input.domain);
  return store.db.tx(async (tx) => {
    await lockAsOwner(tx, ctx);
    if (!(await findConnection(tx, teamId))) throw noConnection();
    const rows = await listSsoDomains(tx, teamId);
    const before = rows.find((row) => row.domain === domain);
    if (before) return presentSsoDomain(before);
    if (rows.length >= DOMAINS_MAX) {
      throw refuse('validation_error', { status: 422, say: `Single sign-on has at most ${DOMAINS_MAX} domains.` });
    }
    const row = {
      id: store.ids.uuid(),
      team_id: teamId,
      domain,
      proof: PROOF_LABEL + store.ids.hex(PROOF_BYTES),
      diagnosis: null,
      verified_at: null,
      checked_at: 0,
      created_at: store.clock.now(),
    };
    await insertSsoDomain(tx, row);
    return presentSsoDomain(row);
  });
}

export async function removeSsoDomain(ctx: Ctx, place: { teamId: string; domain: string }) {
  mustBeOwnTeam(ctx, place.teamId);
  return ctx.store.db.tx(async (tx) => {
    await lockAsOwner(tx, ctx);
    const rows = await listSsoDomains(tx, ctx.teamId);
    const row = rows.find(({ domain }) => domain === place.domain.toLowerCase());
    if (!row) throw notFound('Domain');
    const isLast = rows.every(({ id, verified_at: at }) => id === row.id || at === null);
    const isNeeded = row.verified_at !== null && (await findConnection(tx, ctx.teamId))?.enforced === 1;
    if (isLast && isNeeded) {
      throw refuse('resource_locked', {
        say: 'This is the last verified domain, and the team enforces single sign-on; stop enforcing it first.',
      });
    }
    await removeRow(tx, row.id);
    return { object: 'sso_domain' as const, domain: row.domain, deleted: true as const };
  });
}

/** Returns a domain of the session's team. */
export async function findOwnSsoDomain(ctx: Ctx, place: { teamId: string; domain: string }): Promise<SsoDomainRow> {
  mustBeOwnTeam(ctx, place.teamId);
  const row = await findSsoDomain(ctx.store.db, ctx.teamId, place.domain.toLowerCase());
  if (!row) throw notFound('Domain');
  return row;
}

/** Stores the result of a DNS check. Throws if another team has already proven the domain. */
export async function settleSsoDomain(store: Store, row: SsoDomainRow, diagnosis: string | null) {
  const now = store.clock.now();
  const check = { diagnosis, verified_at: diagnosis === null ? now : null, checked_at: now };
  try {
    const count = await store.db.tx((tx) => saveDomainCheck(tx, row.id, check));
    if (count === 0) throw notFound('Domain');
  } catch (error) {
    throw isUniqueViolation(error) ? taken(row.domain) : error;
  }
  return presentSsoDomain({ ...row, ...check });
}

const taken = (domain: string) =>
  refuse('resource_locked', {
    say: `Another team of this installation uses ${domain} for single sign-on; it has to remove the domain first.`,
  });

function readDomain(text: string): string {
  const parsed = parseDomainName(text);
  if (!parsed.ok) throw invalidField('domain', `domain: ${parsed.fault}`);
  const record = buildProofName(parsed.domain);
  if (record.length <= DNS_NAME_CHARS_MAX) return parsed.domain;
  const say = `domain is too long: its record would have ${record.length} characters; at most ${DNS_NAME_CHARS_MAX} are allowed.`;
  throw invalidField('domain', say);
}

const HOUR_MS = 3_600_000;

/**
 * Stores the result of a repeated DNS check of a proven domain: null, or what is wrong. A record that is missing for
 * less than the grace period of sending domains changes only the diagnosis. Returns the new row.
 */
export async function settleProvenDomain(
  store: Store,
  row: SsoDomainRow,
  diagnosis: string | null,
): Promise<SsoDomainRow> {
  const now = store.clock.now();
  if (diagnosis === row.diagnosis && diagnosis === null) return row;
  const since = row.diagnosis === null || diagnosis === null ? now : row.checked_at;
  if (diagnosis !== null && now - since >= store.config.domains.grace_hours * HOUR_MS) {
    await loseSsoDomain(store, row, diagnosis);
    return { ...row, diagnosis, verified_at: null, checked_at: now };
  }
  const check = { diagnosis, verified_at: row.verified_at, checked_at: since };
  await store.db.tx((tx) => saveDomainCheck(tx, row.id, check));
  return { ...row, ...check };
}

/** Withdraws the proof of a domain: the team may no longer own it, and somebody else may. */
async function loseSsoDomain(store: Store, row: SsoDomainRow, diagnosis: string): Promise<void> {
  const { team_id: teamId, domain } = row;
  const audit = audited(store, {
    team_id: teamId,
    action: 'team_sso.domain_lost',
    subject_id: row.id,
    request_id: null,
    ...describeActor({ kind: 'job', name: 'single sign-on' }),
    address: null,
    user_agent: null,
    details: JSON.stringify({ domain, diagnosis }),
  });
  await audit.store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    if (!(await loseProof(tx, row.id, { diagnosis, at: store.clock.now() }))) return;
    await endOfDomain(tx, store, row);
  });
}

/** Removes a domain from the command line if it does not belong to the team. */
export async function takeSsoDomain(store: Store, slugOrId: string, domain: string): Promise<TeamRow> {
  const team = await findNamedTeam(store.db, slugOrId);
  if (!team) throw notFound(`Team ${JSON.stringify(slugOrId)}`);
  await store.db.tx(async (tx) => {
    await lockTeam(tx, team.id);
    const row = await findSsoDomain(tx, team.id, domain.toLowerCase());
    if (!row) throw notFound(`Domain ${JSON.stringify(domain)} of the single sign-on of ${team.slug}`);
    await removeSsoDomainRow(tx, row.id);
    await endOfDomain(tx, store, row);
  });
  return team;
}

const endOfDomain = (tx: Executor, store: Store, { team_id: teamId, domain }: SsoDomainRow): Promise<void> =>
  endSsoAccess(tx, store, teamId, {
    isConcerned: ({ email, email_key: key }) => [email, key].some((form) => domainOfAddress(form) === domain),
    by: 'operator',
  });
