import type { World } from '../../../platform/world/index.ts';
import { ruleFor, rulesOf, targetsOf, type InboundRuleRow } from '../../../resources/inbound-rules/index.ts';

/** What a rule passes on: one message for all addresses that it decides about. */
export interface ForwardOrder {
  rule: InboundRuleRow;
  /** The addresses that the message came to. */
  addresses: string[];
  targets: string[];
}

/** What is done with a message for one team. */
export interface Treatment {
  teamId: string;
  /** The addresses that the team is told of; none where all of it is dropped. */
  kept: string[];
  /** No address of it asks for more than to be told. */
  isWithoutContent: boolean;
  forwards: ForwardOrder[];
}

export async function applyRules(world: World, teamId: string, addresses: readonly string[]): Promise<Treatment> {
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
