/**
 * Inbound rules: what a team wants done with mail to an address, a pattern or everything. It promises that one rule
 * decides about an address, the most specific one, and that no rule can be made that forwards to this installation.
 */
export { createInboundRule } from './create-inbound-rule.ts';
export { deleteInboundRule } from './delete-inbound-rule.ts';
export { rulesOf, type InboundRuleRow } from './inbound-rules.store.ts';
export { getInboundRule, listInboundRules, targetsOf } from './read-inbound-rules.ts';
export { ruleFor } from './rule-for.ts';
export { updateInboundRule } from './update-inbound-rule.ts';
