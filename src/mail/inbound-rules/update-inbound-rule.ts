import type { UpdateInboundRuleRequest } from '../../contract/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { lockRule, updateRuleRow } from './inbound-rules.store.ts';
import { targetsOf } from './read-inbound-rules.ts';
import { readTargets } from './read-targets.ts';

export async function updateInboundRule({ store, teamId }: Ctx, id: string, input: UpdateInboundRuleRequest) {
  await store.db.tx(async (tx) => {
    const row = await lockRule(tx, teamId, id);
    if (!row) throw notFound('Inbound rule');
    const { action = row.action } = input;
    const stays = action === 'forward' && row.action === 'forward' ? targetsOf(row) : undefined;
    const targets = await readTargets({ config: store.config, db: tx }, action, input.forward_to ?? stays);
    await updateRuleRow(tx, { id, action, forward_to: JSON.stringify(targets) });
  });
  return { object: 'inbound_rule' as const, id };
}
