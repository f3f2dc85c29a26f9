import { isoTime } from '../../../platform/clock/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { GrantType } from './client-metadata.ts';
import type { ListedClient, NewClient } from './clients.store.ts';
import type { GrantRow, RevokedReason } from './grants.store.ts';
import { presentLimits, readStored } from './limits.ts';

/** As RFC 7591 §3.2.1 has it: what was left out is left out. */
export const presentClient = (store: Store, row: NewClient) => ({
  client_id: row.client_id,
  client_id_issued_at: Math.floor(row.created_at / 1000),
  registration_client_uri: `${store.origin()}/oauth/register/${row.client_id}`,
  client_name: row.name,
  redirect_uris: JSON.parse(row.redirect_uris) as string[],
  grant_types: JSON.parse(row.grant_types) as GrantType[],
  response_types: ['code' as const],
  token_endpoint_auth_method: 'none' as const,
  ...(row.scope !== null && { scope: row.scope }),
  ...(row.client_uri !== null && { client_uri: row.client_uri }),
  ...(row.logo_uri !== null && { logo_uri: row.logo_uri }),
  ...(row.software_id !== null && { software_id: row.software_id }),
  ...(row.software_version !== null && { software_version: row.software_version }),
});

/** For the operator. */
export const presentListedClient = (row: ListedClient) => ({
  object: 'oauth_client' as const,
  id: row.id,
  client_id: row.client_id,
  client_name: row.name,
  redirect_uris: JSON.parse(row.redirect_uris) as string[],
  client_uri: row.client_uri,
  live_grants: row.live_grants,
  created_at: isoTime(row.created_at),
  used_at: row.used_at === null ? null : isoTime(row.used_at),
  disabled_at: row.disabled_at === null ? null : isoTime(row.disabled_at),
  disabled_reason: row.disabled_reason,
  disabled_by: row.disabled_by,
});

export const presentGrant = (row: GrantRow) => ({
  id: row.id,
  client_id: row.client_id,
  scopes: row.scopes.split(' '),
  created_at: isoTime(row.created_at),
  revoked_at: row.revoked_at === null ? null : isoTime(row.revoked_at),
  revoked_reason: row.revoked_reason,
  client: { name: row.client_name, logo_uri: row.client_logo_uri },
  limits: presentLimits({ limits: readStored(row.limits), expiresAt: row.expires_at }),
});

export const presentRevoked = (id: string, revoked: { at: number; reason: RevokedReason }) => ({
  object: 'oauth_grant' as const,
  id,
  revoked_at: isoTime(revoked.at),
  revoked_reason: revoked.reason,
});
