import { isoTime } from '../../platform/clock/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findRule, listRuleRows, type InboundRuleRow } from './inbound-rules.store.ts';

export async function getInboundRule({ store, teamId }: Ctx, id: string) {
  const row = await findRule(store.db, teamId, id);
  if (!row) throw notFound('Inbound rule');
  return { object: 'inbound_rule' as const, ...present(row) };
}

export async function listInboundRules({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listRuleRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

export const targetsOf = ({ forward_to: list }: Pick<InboundRuleRow, 'forward_to'>): string[] =>
  JSON.parse(list) as string[];

const present = (row: InboundRuleRow) => ({
  id: row.id,
  pattern: row.pattern,
  action: row.action,
  forward_to: targetsOf(row),
  created_at: isoTime(row.created_at),
});
