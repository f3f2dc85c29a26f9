import { tell } from '../features/identity/accounts/index.ts';
import {
  authorizationServer,
  deleteClient,
  disableOauthClient,
  enableOauthClient,
  exchangeToken,
  getClient,
  limitOauthGrant,
  listOauthClients,
  listOauthGrants,
  protectedResource,
  registerClient,
  replaceClient,
  revokeOauthGrant,
  revokeToken,
} from '../features/identity/oauth/index.ts';
import { pageOf, type Operations } from './operation.ts';

/** The bodies of x-oauth-flow come unchecked: RFC 6749 has rules of its own for them, which the resource keeps. */
export const oauth = {
  getAuthorizationServer: async ({ store }) => authorizationServer(store),
  getProtectedResource: async ({ store }) => protectedResource(store, ''),
  getMcpResource: async ({ store }) => protectedResource(store, '/mcp'),
  registerClient: (ctx, { body }) => registerClient(ctx, { ...body }),
  getClient: (ctx, { path }) => getClient(ctx, path.client_id),
  replaceClient: (ctx, { path, body }) => replaceClient(ctx, path.client_id, { ...body }),
  deleteClient: (ctx, { path }) => deleteClient(ctx, path.client_id),
  exchangeToken: (ctx, { body }) => exchangeToken(ctx, { ...body }, tell),
  revokeToken: (ctx, { body }) => revokeToken(ctx, { ...body }),
  listOauthGrants: (ctx, { query }) => listOauthGrants(ctx, pageOf(query)),
  limitOauthGrant: (ctx, { path, body }) => limitOauthGrant(ctx, path.oauth_grant_id, body),
  revokeOauthGrant: (ctx, { path }) => revokeOauthGrant(ctx, path.oauth_grant_id),
  listOauthClients: (ctx, { query = {} }) => listOauthClients(ctx.store, query, pageOf(query)),
  disableOauthClient: (ctx, { path, body }) => disableOauthClient(ctx, path.oauth_client_id, body.reason),
  enableOauthClient: (ctx, { path }) => enableOauthClient(ctx, path.oauth_client_id),
} satisfies Partial<Operations>;
