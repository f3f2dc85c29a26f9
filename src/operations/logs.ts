import { accessOf, ANY_SCOPE, listOperations, reachOf, type OpenApiDocument } from '../contract/index.ts';
import type { Actor } from '../tenancy/access/index.ts';
import { getLog, listLogs } from '../tenancy/logs/index.ts';
import { pageOf, type Operations } from './operation.ts';

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
  const [words, segments] = [template.split('/'), endpoint.split('/')];
  return words.length === segments.length && words.every((word, at) => word.startsWith('{') || word === segments[at]);
}
