import type { World } from '../../platform/world/index.ts';
import { ruleFor, rulesOf, targetsOf, type InboundRuleRow } from '../inbound-rules/index.ts';

/** What a rule forwards: one message for all addresses that it matches. */
export interface ForwardOrder {
  rule: InboundRuleRow;
  /** The addresses, among those that the message came to, which the rule matches. */
  addresses: string[];
  targets: string[];
}

/** What the rules of one team decide about a message. */
export interface RuleDecision {
  teamId: string;
  /** The addresses whose mail is stored, if only as a notice; empty where all of it is dropped. */
  kept: string[];
  /** All of these addresses are `webhook_only`: the team gets an event, and no content is stored. */
  isWithoutContent: boolean;
  forwards: ForwardOrder[];
}

export async function applyRules(world: World, teamId: string, addresses: readonly string[]): Promise<RuleDecision> {
  const rules = await rulesOf(world.db, teamId);
  const kept: string[] = [];
  const forwards = new Map<string, ForwardOrder>();
  let isWithoutContent = true;
  for (const address of addresses) {
    const rule = rules.length === 0 ? undefined : ruleFor(rules, address);
    if (rule?.action === 'drop') continue;
    kept.push(address);
    if (rule?.action !== 'webhook_only') isWithoutContent = false;
    if (rule?.action !== 'forward') continue;
    const order = forwards.get(rule.id) ?? { rule, addresses: [], targets: targetsOf(rule) };
    order.addresses.push(address);
    forwards.set(rule.id, order);
  }
  return { teamId, kept, isWithoutContent, forwards: [...forwards.values()] };
}
