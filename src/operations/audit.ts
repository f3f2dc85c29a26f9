import { listAudit, listOperatorAudit } from '../resources/audit/index.ts';
import { pageOf, type Operations, type OperatorOperations } from './operation.ts';

export const audit = {
  listAudit: (ctx, { query }) => listAudit(ctx, pageOf(query)),
} satisfies Partial<Operations>;

export const operatorAudit = {
  listOperatorAudit: (ctx, { query }) => listOperatorAudit(ctx, pageOf(query)),
} satisfies Partial<OperatorOperations>;
