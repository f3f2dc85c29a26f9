/**
 * Inbound rules: what a team wants done with mail to an address, a pattern or everything. It promises that one rule
 * decides about an address, the most specific one, and that no rule can be made that forwards to this installation.
 */
export {
  createInboundRule,
  deleteInboundRule,
  getInboundRule,
  listInboundRules,
  targetsOf,
  ruleFor,
  updateInboundRule,
} from './inbound-rules.ts';
export { rulesOf, type InboundRuleRow } from './inbound-rules.store.ts';
