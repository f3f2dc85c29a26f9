import type { Store } from '../platform/store.ts';
import type { RequestLog } from './logs/index.ts';
import {
  ANY_SCOPE,
  readRequirement,
  listOperations,
  checkPermission,
  type OpenApiDocument,
} from '../contract/index.ts';
import type { Actor } from './access/index.ts';
import { readPage, type OperationTable } from './access/index.ts';
import { createApiKey, deleteApiKey, listApiKeys, updateApiKey } from './api-keys/index.ts';
import { listAudit, listOperatorAudit } from './audit/index.ts';
import { getLog, listLogs } from './logs/index.ts';
import { foundTeam, getTeam, listOwnTeams, renewArchive, switchTeam, updateTeam } from './teams/index.ts';

export const teams = {
  listTeams: (ctx, { query }) => listOwnTeams(ctx, readPage(query)),
  createTeam: (ctx, { body }) => foundTeam(ctx, body),
  switchTeam: (ctx, { path }) => switchTeam(ctx, path.team_id),
  getTeam: (ctx) => getTeam(ctx),
  updateTeam: (ctx, { body }) => updateTeam(ctx, body),
  renewArchive: (ctx) => renewArchive(ctx),
} satisfies OperationTable;

export const apiKeys = {
  createApiKey: (ctx, { body }) => createApiKey(ctx, body),
  listApiKeys: (ctx, { query = {} }) => listApiKeys(ctx, query, readPage(query)),
  updateApiKey: (ctx, { path, body }) => updateApiKey(ctx, path.api_key_id, body),
  deleteApiKey: (ctx, { path }) => deleteApiKey(ctx, path.api_key_id),
} satisfies OperationTable;

/**
 * Both wait for the requests that this process has answered and not yet written, so that callers see their own last
 * requests.
 */
export const logs = {
  async listLogs(ctx, { query = {} }) {
    const page = readPage(query);
    await ctx.services.requestLog.settled();
    return listLogs(ctx, query, page);
  },
  async getLog(ctx, { path }) {
    await ctx.services.requestLog.settled();
    return getLog(ctx, path.log_id, (method, endpoint) => mayReadBodies(ctx, { method, endpoint }));
  },
} satisfies OperationTable<Store, { services: { requestLog: RequestLog; document: OpenApiDocument } }>;

/** Reports whether the bodies of a request are shown: an app sees only those of operations that it may call itself. */
function mayReadBodies(
  { actor, services }: { actor: Actor; services: { document: OpenApiDocument } },
  { method, endpoint }: { method: string; endpoint: string },
): boolean {
  if (actor.kind !== 'oauth_grant') return true;
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  const named = listOperations(services.document).filter((one) => one.method === verb && fits(one.path, endpoint));
  // If the path matches several operations, the app must reach each of them. Operations open to every app show an app
  // only its own data, so their bodies are hidden.
  return (
    named.length > 0 &&
    named.every(({ operation }) => {
      const access = readRequirement(operation);
      return access.scope !== ANY_SCOPE && checkPermission(actor, access) === 'reached';
    })
  );
}

function fits(template: string, endpoint: string): boolean {
  const words = template.split('/');
  const segments = endpoint.split('/');
  return words.length === segments.length && words.every((word, at) => word.startsWith('{') || word === segments[at]);
}

export const audit = {
  listAudit: (ctx, { query }) => listAudit(ctx, readPage(query)),
  listOperatorAudit: (ctx, { query }) => listOperatorAudit(ctx, readPage(query)),
} satisfies OperationTable;
