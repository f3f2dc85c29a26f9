import type { Executor } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { lockTeam } from '../../../tenancy/access/index.ts';
import { audited, whoActed } from '../../../tenancy/audit/index.ts';
import {
  findSsoDomain,
  loseProof,
  removeSsoDomain,
  saveDomainCheck,
  type SsoDomainRow,
} from '../../../tenancy/sso-rows/index.ts';
import { findNamedTeam, type TeamRow } from '../../../tenancy/teams/index.ts';
import { domainOfAddress } from './address.ts';
import { endWhatSsoBegan } from './end-what-it-began.ts';

const HOUR_MS = 3_600_000;

/**
 * What DNS says of a proven domain, now that it was asked again: null, or what is wrong. A record that is away for less than the
 * grace of sending domains changes nothing but the diagnosis. Answers the row as it is then.
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

/** The team may not have the domain any more, and somebody else have it. */
async function loseSsoDomain(store: Store, row: SsoDomainRow, diagnosis: string): Promise<void> {
  const { team_id: teamId, domain } = row;
  const audit = audited(store, {
    ...{ team_id: teamId, action: 'team_sso.domain_lost', subject_id: row.id, request_id: null },
    ...whoActed({ kind: 'job', name: 'single sign-on' }),
    ...{ address: null, user_agent: null, details: JSON.stringify({ domain, diagnosis }) },
  });
  await audit.store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    if (!(await loseProof(tx, row.id, { diagnosis, at: store.clock.now() }))) return;
    await endOfDomain(tx, store, row);
  });
}

/** What the operator does on the machine with a domain that is not the team's. */
export async function takeSsoDomain(store: Store, slugOrId: string, domain: string): Promise<TeamRow> {
  const team = await findNamedTeam(store.db, slugOrId);
  if (!team) throw notFound(`Team ${JSON.stringify(slugOrId)}`);
  await store.db.tx(async (tx) => {
    await lockTeam(tx, team.id);
    const row = await findSsoDomain(tx, team.id, domain.toLowerCase());
    if (!row) throw notFound(`Domain ${JSON.stringify(domain)} of the single sign-on of ${team.slug}`);
    await removeSsoDomain(tx, row.id);
    await endOfDomain(tx, store, row);
  });
  return team;
}

const endOfDomain = (tx: Executor, store: Store, { team_id: teamId, domain }: SsoDomainRow): Promise<void> =>
  endWhatSsoBegan(tx, store, teamId, {
    isConcerned: ({ email, email_key: key }) => [email, key].some((form) => domainOfAddress(form) === domain),
    by: 'operator',
  });
