import { SCOPE_NAMES } from '../../../contract/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { GRANT_TYPES } from './client-metadata.ts';

/** RFC 8414. The issuer is, letter by letter, the address under which it is fetched. */
export function authorizationServer({ origin }: Store) {
  const base = origin();
  return {
    issuer: base,
    authorization_endpoint: `${base}/oauth/authorize`,
    token_endpoint: `${base}/oauth/token`,
    registration_endpoint: `${base}/oauth/register`,
    revocation_endpoint: `${base}/oauth/revoke`,
    scopes_supported: [...SCOPE_NAMES],
    response_types_supported: ['code' as const],
    response_modes_supported: ['query' as const],
    grant_types_supported: [...GRANT_TYPES],
    token_endpoint_auth_methods_supported: ['none' as const],
    revocation_endpoint_auth_methods_supported: ['none' as const],
    code_challenge_methods_supported: ['S256' as const],
    authorization_response_iss_parameter_supported: true as const,
    service_documentation: `${base}/docs`,
  };
}

/** RFC 9728, of the whole service or of `/mcp`. */
export function protectedResource({ origin }: Store, path: '' | '/mcp') {
  const base = origin();
  return {
    resource: `${base}${path}`,
    authorization_servers: [base],
    scopes_supported: [...SCOPE_NAMES],
    bearer_methods_supported: ['header' as const],
    resource_documentation: `${base}/docs`,
  };
}
