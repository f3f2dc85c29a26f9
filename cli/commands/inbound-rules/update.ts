import type { Session } from '../declare.ts';
import { ruleFields, type RuleOptions } from './create.ts';

export async function updateInboundRule(session: Session, id: string, options: RuleOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const changed = await client.call('updateInboundRule', { path: { inbound_rule_id: id }, body: ruleFields(options) });
  if (isJson) return terminal.printJson(changed);
  terminal.print(terminal.isTty ? `Changed  ${changed.id}` : changed.id);
}
