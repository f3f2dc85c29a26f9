import { getLog, listLogs } from '../resources/logs/index.ts';
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
    return getLog(ctx, path.log_id);
  },
} satisfies Partial<Operations>;
