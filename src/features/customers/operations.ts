import type { Store } from '../../platform/store.ts';
import { readPage, type OperationTable } from '../../tenancy/access/index.ts';
import type { RequestLog } from '../../tenancy/logs/index.ts';
import { listContactActivity } from './contact-timeline.ts';
import { eraseAddress } from './erase-address.ts';

export const people = {
  listContactActivity: (ctx, { path, query = {} }) => listContactActivity(ctx, path.contact, query, readPage(query)),
  async eraseAddress(ctx, { body }) {
    // The log of requests is searched too, with those that this process has answered and not yet written.
    await ctx.services.requestLog.settled();
    return eraseAddress(ctx, body);
  },
} satisfies OperationTable<Store, { services: { requestLog: RequestLog } }>;
