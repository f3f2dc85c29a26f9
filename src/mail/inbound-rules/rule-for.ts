import { normalizeAddress } from '../../protocol/address/index.ts';
import type { InboundRuleRow } from './inbound-rules.store.ts';
import { isMatch, specificity } from './pattern.ts';

/** The rule that decides about an address, of a team's rules with the oldest first. */
export function ruleFor(rules: readonly InboundRuleRow[], address: string): InboundRuleRow | undefined {
  const key = normalizeAddress(address);
  let best: InboundRuleRow | undefined;
  for (const rule of rules) {
    if (isMatch(rule.pattern, key) && (!best || specificity(rule.pattern) > specificity(best.pattern))) best = rule;
  }
  return best;
}
