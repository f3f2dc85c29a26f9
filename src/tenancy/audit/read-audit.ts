import { isoTime } from '../../platform/clock/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { timeOfId } from '../../platform/ids/index.ts';
import type { Ctx, OperatorCtx } from '../access/index.ts';
import { auditPage, type AuditRow } from './audit.store.ts';

/** What was changed of a team, newest first. */
export async function listAudit({ store, teamId }: Ctx, page: Page) {
  return listed(await auditPage(store.db, teamId, page));
}

/** What was changed anywhere. */
export async function listOperatorAudit({ store }: OperatorCtx, page: Page) {
  return listed(await auditPage(store.db, undefined, page));
}

const listed = ({ rows, hasMore }: { rows: AuditRow[]; hasMore: boolean }) => ({
  object: 'list' as const,
  has_more: hasMore,
  data: rows.map(present),
});

const present = (row: AuditRow) => ({
  id: row.id,
  created_at: isoTime(row.created_at ?? timeOfId(row.id)),
  action: row.action,
  subject_id: row.subject_id,
  team_id: row.team_id,
  actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
  address: row.address,
  user_agent: row.user_agent,
  request_id: row.request_id,
  details: row.details === null ? null : (JSON.parse(row.details) as unknown),
});
