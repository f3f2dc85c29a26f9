import { getLog, listLogs, type LogFilter } from '../../resources/logs/index.ts';
import type { KeyHandler } from '../operation.ts';
import { pageOf } from '../page.ts';

/** Both wait for the requests this process has answered and not yet written: everyone reads what they just did. */
export const logs: Record<string, KeyHandler> = {
  async listLogs(ctx, { services, query }) {
    const page = pageOf(query);
    await services.requestLog.settled();
    return listLogs(ctx, query as LogFilter, page);
  },
  async getLog(ctx, { services, path }) {
    await services.requestLog.settled();
    return getLog(ctx, path.log_id ?? '');
  },
};
