import { isoTime } from '../../../platform/clock/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { ssoDomainsOf, statusOf, type ConnectionRow, type SsoDomainRow } from '../../../tenancy/sso-rows/index.ts';

export const CALLBACK_PATH = '/auth/sso/callback';
export const START_PATH = '/auth/sso/start';

/** One address for all connections: an attempt knows which one it is of. */
export const redirectUriOf = ({ origin }: Pick<Store, 'origin'>): string => origin() + CALLBACK_PATH;

export async function presentConnection(store: Store, db: Executor, row: ConnectionRow) {
  const domains = await ssoDomainsOf(db, row.team_id);
  const proven = domains.filter((domain) => domain.verified_at !== null).length;
  return {
    object: 'sso_connection' as const,
    status: statusOf(row, proven),
    issuer: row.issuer,
    client_id: row.client_id,
    enforced: row.enforced === 1,
    default_role: row.default_role,
    redirect_uri: redirectUriOf(store),
    domains: domains.map(presentSsoDomain),
    tested_at: row.tested_at === null ? null : isoTime(row.tested_at),
    created_at: isoTime(row.created_at),
  };
}

export const proofNameOf = (domain: string): string => `_rasket-sso.${domain}`;

export const presentSsoDomain = (row: Omit<SsoDomainRow, 'lost_at'>) => ({
  object: 'sso_domain' as const,
  domain: row.domain,
  status: row.verified_at === null ? ('pending' as const) : ('verified' as const),
  record: { type: 'TXT' as const, name: proofNameOf(row.domain), value: row.proof },
  diagnosis: row.diagnosis,
  verified_at: row.verified_at === null ? null : isoTime(row.verified_at),
  created_at: isoTime(row.created_at),
});
