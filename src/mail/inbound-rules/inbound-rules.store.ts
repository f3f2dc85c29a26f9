import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../platform/db/index.ts';

export type InboundAction = 'webhook_only' | 'forward' | 'drop';

export interface InboundRuleRow {
  id: string;
  team_id: string;
  /** In the normalized form in which addresses are compared. */
  pattern: string;
  action: InboundAction;
  /** A JSON list; empty unless the rule forwards. */
  forward_to: string;
  created_at: number;
}

const COLUMNS = ['id', 'team_id', 'pattern', 'action', 'forward_to', 'created_at'] as const;

export async function insertRule(tx: Executor, row: InboundRuleRow): Promise<void> {
  await tx.insertMany('inbound_rules', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export const listRules = (db: Executor, teamId: string): Promise<InboundRuleRow[]> =>
  db.all<InboundRuleRow>('select * from inbound_rules where team_id = ? order by id', [teamId]);

export const findRule = (db: Executor, teamId: string, id: string): Promise<InboundRuleRow | undefined> =>
  db.get<InboundRuleRow>('select * from inbound_rules where team_id = ? and id = ?', [teamId, id]);

/** Reads a rule and locks it to the end of the transaction, so that a change is decided by the state it changes. */
export function lockRule(tx: Executor, teamId: string, id: string): Promise<InboundRuleRow | undefined> {
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  return tx.get<InboundRuleRow>(`select * from inbound_rules where team_id = ? and id = ? ${lock}`, [teamId, id]);
}

export async function listRuleRows(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: InboundRuleRow[]; hasMore: boolean }> {
  const sql = pageSql('inbound_rules', 'team_id = ?', page);
  return cutPage(await db.all<InboundRuleRow>(sql, [teamId, ...pageValues(page)]), page);
}

export async function updateRuleRow(
  tx: Executor,
  { id, action, forward_to: forwardTo }: Pick<InboundRuleRow, 'id' | 'action' | 'forward_to'>,
): Promise<void> {
  await tx.run('update inbound_rules set action = ?, forward_to = ? where id = ?', [action, forwardTo, id]);
}

/** Deletes a rule; returns false if it was gone already. */
export const deleteRuleRow = async (tx: Executor, teamId: string, id: string): Promise<boolean> =>
  (await tx.run('delete from inbound_rules where team_id = ? and id = ?', [teamId, id])) === 1;
