import { listAudit, listOperatorAudit } from '../tenancy/audit/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const audit = {
  listAudit: (ctx, { query }) => listAudit(ctx, pageOf(query)),
  listOperatorAudit: (ctx, { query }) => listOperatorAudit(ctx, pageOf(query)),
} satisfies Partial<Operations>;
