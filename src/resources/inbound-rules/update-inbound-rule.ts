import type { UpdateInboundRuleRequest } from '../../contract/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { findRule, updateRuleRow } from './inbound-rules.store.ts';
import { targetsOf } from './read-inbound-rules.ts';
import { readTargets } from './read-targets.ts';

export async function updateInboundRule(ctx: Ctx, id: string, input: UpdateInboundRuleRequest) {
  const { store, teamId } = ctx;
  const row = await findRule(store.db, teamId, id);
  if (!row) throw notFound('Inbound rule');
  const { action = row.action } = input;
  const stays = action === 'forward' && row.action === 'forward' ? targetsOf(row) : undefined;
  const targets = await readTargets(ctx, action, input.forward_to ?? stays);
  await store.db.tx((tx) => updateRuleRow(tx, { id, action, forward_to: JSON.stringify(targets) }));
  return { object: 'inbound_rule' as const, id };
}
