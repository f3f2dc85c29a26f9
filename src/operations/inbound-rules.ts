import {
  createInboundRule,
  deleteInboundRule,
  getInboundRule,
  listInboundRules,
  updateInboundRule,
} from '../mail/inbound-rules/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const inboundRules = {
  createInboundRule: (ctx, { body }) => createInboundRule(ctx, body),
  listInboundRules: (ctx, { query }) => listInboundRules(ctx, pageOf(query)),
  getInboundRule: (ctx, { path }) => getInboundRule(ctx, path.inbound_rule_id),
  updateInboundRule: (ctx, { path, body }) => updateInboundRule(ctx, path.inbound_rule_id, body),
  deleteInboundRule: (ctx, { path }) => deleteInboundRule(ctx, path.inbound_rule_id),
} satisfies Partial<Operations>;
