import { countSegments } from '../features/audience/segments/index.ts';
import { countDomains } from '../mail/domains/index.ts';
import { foundTeam, getTeam, listOwnTeams, switchTeam, updateTeam } from '../tenancy/teams/index.ts';
import { pageOf, type Operations } from './operation.ts';
import {
  getTeamMember,
  listMembers,
  listTeamMembers,
  removeTeamMember,
  updateTeamMember,
} from '../tenancy/members/index.ts';
import { revokeGrantsOfMember } from '../features/identity/oauth/index.ts';
import { createApiKey, deleteApiKey, listApiKeys, updateApiKey } from '../tenancy/api-keys/index.ts';
import { countBroadcasts } from '../features/campaigns/broadcasts/index.ts';
import { getUsage } from '../tenancy/usage/index.ts';
import { accessOf, ANY_SCOPE, listOperations, reachOf, type OpenApiDocument } from '../contract/index.ts';
import type { Actor } from '../tenancy/access/index.ts';
import { getLog, listLogs } from '../tenancy/logs/index.ts';
import { listAudit, listOperatorAudit } from '../tenancy/audit/index.ts';

export const teams = {
  listTeams: (ctx, { query }) => listOwnTeams(ctx, pageOf(query)),
  createTeam: (ctx, { body }) => foundTeam(ctx, body),
  switchTeam: (ctx, { path }) => switchTeam(ctx, path.team_id),
  getTeam: (ctx) => getTeam(ctx),
  updateTeam: (ctx, { body }) => updateTeam(ctx, body),
} satisfies Partial<Operations>;

export const members = {
  listMembers: (ctx, { query }) => listMembers(ctx, pageOf(query)),
  listTeamMembers: (ctx, { path, query }) => listTeamMembers(ctx, path.team_id, pageOf(query)),
  getTeamMember: (ctx, { path }) => getTeamMember(ctx, path.team_id, path.member_id),
  updateTeamMember: (ctx, { path, body }) =>
    updateTeamMember(ctx, { teamId: path.team_id, memberId: path.member_id }, body),
  removeTeamMember: (ctx, { path }) =>
    removeTeamMember(ctx, { teamId: path.team_id, memberId: path.member_id }, revokeGrantsOfMember),
} satisfies Partial<Operations>;

export const apiKeys = {
  createApiKey: (ctx, { body }) => createApiKey(ctx, body),
  listApiKeys: (ctx, { query = {} }) => listApiKeys(ctx, query, pageOf(query)),
  updateApiKey: (ctx, { path, body }) => updateApiKey(ctx, path.api_key_id, body),
  deleteApiKey: (ctx, { path }) => deleteApiKey(ctx, path.api_key_id),
} satisfies Partial<Operations>;

export const usage = {
  async getUsage(ctx) {
    const { db } = ctx.store;
    const [broadcasts, domains, segments] = await Promise.all([
      countBroadcasts(db, ctx.teamId),
      countDomains(db, ctx.teamId),
      countSegments(db, ctx.teamId),
    ]);
    return getUsage(ctx, { broadcasts, domains, segments });
  },
} satisfies Partial<Operations>;

/** Both wait for the requests this process has answered and not yet written: everyone reads what they just did. */
export const logs = {
  async listLogs(ctx, { query = {} }) {
    const page = pageOf(query);
    await ctx.services.requestLog.settled();
    return listLogs(ctx, query, page);
  },
  async getLog(ctx, { path }) {
    await ctx.services.requestLog.settled();
    return getLog(ctx, path.log_id, (method, endpoint) => mayReadBodies(ctx, { method, endpoint }));
  },
} satisfies Partial<Operations>;

/** Whether bodies of a request are shown: an app sees those alone that it might be answered itself. */
function mayReadBodies(
  { actor, services }: { actor: Actor; services: { document: OpenApiDocument } },
  { method, endpoint }: { method: string; endpoint: string },
): boolean {
  if (actor.kind !== 'oauth_grant') return true;
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  const named = listOperations(services.document).filter((one) => one.method === verb && fits(one.path, endpoint));
  // Of several that the path may name, each has to be reached. What any app reaches shows an app its own alone.
  return (
    named.length > 0 &&
    named.every(({ operation }) => {
      const access = accessOf(operation);
      return access.scope !== ANY_SCOPE && reachOf(actor, access) === 'reached';
    })
  );
}

function fits(template: string, endpoint: string): boolean {
  const words = template.split('/');
  const segments = endpoint.split('/');
  return words.length === segments.length && words.every((word, at) => word.startsWith('{') || word === segments[at]);
}

export const audit = {
  listAudit: (ctx, { query }) => listAudit(ctx, pageOf(query)),
  listOperatorAudit: (ctx, { query }) => listOperatorAudit(ctx, pageOf(query)),
} satisfies Partial<Operations>;
