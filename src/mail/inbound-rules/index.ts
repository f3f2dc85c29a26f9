/**
 * Inbound rules: the action that a team chooses for mail to an address, a pattern or everything. One rule decides about
 * an address, the most specific one, and no rule can be made that forwards to this installation.
 */
export {
  createInboundRule,
  deleteInboundRule,
  getInboundRule,
  listInboundRules,
  readStoredTargets,
  ruleFor,
  updateInboundRule,
} from './inbound-rules.ts';
export { listRules, type InboundRuleRow } from './inbound-rules.store.ts';
