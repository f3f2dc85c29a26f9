import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { deleteRuleRow } from './inbound-rules.store.ts';

export async function deleteInboundRule({ store, teamId }: Ctx, id: string) {
  if (!(await store.db.tx((tx) => deleteRuleRow(tx, teamId, id)))) throw notFound('Inbound rule');
  return { object: 'inbound_rule' as const, id, deleted: true as const };
}
