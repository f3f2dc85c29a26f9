import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';

export interface AuditRow {
  id: string;
  team_id: string | null;
  action: string;
  subject_id: string | null;
  actor_kind: 'api_key' | 'user' | 'app' | 'operator' | 'command' | 'system' | 'link';
  actor_id: string | null;
  actor_name: string | null;
  /** The name of the app that acted for the person, and its grant; null for any other actor. */
  actor_app: string | null;
  actor_grant_id: string | null;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
  /** JSON. */
  details: string | null;
  /** Null in entries of earlier versions, which use the time of their id. */
  created_at: number | null;
}

/** Inserts an entry with the current name of a key, which may be renamed later. */
export async function insertAudit(tx: Executor, row: AuditRow): Promise<void> {
  const name = `coalesce(?, (select name from api_keys where id = ?))`;
  await tx.run(
    `insert into audit_log (id, team_id, action, subject_id, actor_kind, actor_id, actor_name, actor_app,
        actor_grant_id, address, user_agent, request_id, details, created_at)
      values (?, ?, ?, ?, ?, ?, ${name}, ?, ?, ?, ?, ?, ?, ?)`,
    [
      row.id,
      row.team_id,
      row.action,
      row.subject_id,
      row.actor_kind,
      row.actor_id,
      row.actor_name,
      row.actor_kind === 'api_key' ? row.actor_id : null,
      row.actor_app,
      row.actor_grant_id,
      row.address,
      row.user_agent,
      row.request_id,
      row.details,
      row.created_at,
    ],
  );
}

/**
 * Queries for the name by which people know a person or a thing that is removed: an id means nothing once its row is
 * gone.
 */
const REMOVED: Readonly<Record<string, string>> = {
  'api_key.revoked': 'select name from api_keys where id = ?',
  'automation.deleted': 'select name from automations where id = ?',
  'contact_property.deleted': 'select "key" from contact_properties where id = ?',
  'domain.deleted': 'select name from domains where id = ?',
  'event.deleted': 'select name from custom_events where id = ?',
  'form.deleted': 'select name from sign_up_forms where id = ?',
  'image.deleted': 'select content_type, bytes from images where id = ?',
  'inbound_rule.deleted': 'select pattern, action, forward_to from inbound_rules where id = ?',
  'inbox.deleted': 'select address from inboxes where id = ?',
  'inbox_label.deleted': 'select name from inbox_labels where id = ?',
  'inbox_thread.deleted': 'select subject, sender from inbox_threads where id = ?',
  'segment.deleted': 'select name from segments where id = ?',
  'broadcast.deleted': 'select name from broadcasts where id = ?',
  'session.ended': 'select kind, client_name, address, user_agent from sessions where id = ?',
  'suppression.lifted': 'select email from suppressions where id = ?',
  'oauth_client.disabled': 'select client_id, name as client_name from oauth_clients where id = ?',
  'oauth_client.enabled':
    'select client_id, name as client_name, disabled_reason as former_reason from oauth_clients where id = ?',
  'oauth_grant.revoked': 'select client_id, client_name, scopes from oauth_grants where id = ?',
  'invitation.revoked': 'select email, role from team_invitations where id = ?',
  'team_member.removed': 'select email, role from team_members m join users u on u.id = m.user_id where m.id = ?',
  'team_member.updated':
    'select email, role as former_role from team_members m join users u on u.id = m.user_id where m.id = ?',
  'template.deleted': 'select name from templates where id = ?',
  'topic.deleted': 'select name from topics where id = ?',
  'webhook.deleted': 'select endpoint from webhooks where id = ?',
};

const IS_ID = /^(?:[a-z]+_[\da-f]{32}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i;

export async function readRemoved(
  tx: Executor,
  { action, subject_id: id }: Pick<AuditRow, 'action' | 'subject_id'>,
): Promise<object | undefined> {
  const sql = REMOVED[action];
  // A subject named by an alias or an address is known by that.
  if (sql === undefined || id === null || !IS_ID.test(id)) return undefined;
  return tx.get(sql, [id]);
}

/** Queries for the name of what was changed, by the kind of thing that the action begins with. */
const NAMED: Readonly<Record<string, string>> = {
  api_key: 'select name from api_keys where id = ?',
  domain: 'select name from domains where id = ?',
  suppression: 'select email from suppressions where id = ?',
  team: 'select name from teams where id = ?',
};

/** Reads the name of what an action has changed; undefined if it is gone, or its kind has no name. */
export async function readName(
  tx: Executor,
  { action, subject_id: id }: Pick<AuditRow, 'action' | 'subject_id'>,
): Promise<object | undefined> {
  const sql = NAMED[action.slice(0, action.indexOf('.'))];
  if (sql === undefined || id === null || !IS_ID.test(id)) return undefined;
  return tx.get(sql, [id]);
}

/** Reads a page of the log of one team, or of all. */
export async function auditPage(
  db: Executor,
  teamId: string | undefined,
  page: Page,
): Promise<{ rows: AuditRow[]; hasMore: boolean }> {
  const sql = pageSql('audit_log', teamId === undefined ? '1 = 1' : 'team_id = ?', page);
  const values = [...(teamId === undefined ? [] : [teamId]), ...pageValues(page)];
  return cutPage(await db.all<AuditRow>(sql, values), page);
}

/** Removes up to `limit` old entries; returns how many. */
export const removeAuditBefore = (db: Executor, before: number, limit: number): Promise<number> =>
  db.run('delete from audit_log where id in (select id from audit_log where id < ? order by id limit ?)', [
    firstIdAt(before),
    limit,
  ]);
