import type { Actor, Ctx, OperatorCtx } from '../access/index.ts';
import type { AuditNote } from './audited-store.ts';
import { auditPage, type AuditRow } from './audit.store.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Page } from '../../platform/db/index.ts';
import { timeOfId } from '../../platform/ids.ts';

type ActorColumns = Pick<AuditNote, 'actor_kind' | 'actor_id' | 'actor_name' | 'actor_app' | 'actor_grant_id'>;

/**
 * Names the actor of an entry. The name of a key is looked up when the entry is written. An app acts for the person who
 * authorized it: the entry names both.
 */
export function describeActor(actor: Actor): ActorColumns {
  switch (actor.kind) {
    case 'api_key':
    case 'smtp_credential':
      return { actor_kind: 'api_key', actor_id: actor.keyId, actor_name: null };
    case 'session':
      return { actor_kind: 'user', actor_id: actor.userId, actor_name: actor.name };
    case 'oauth_grant': {
      const { userId, name, clientName, grantId } = actor;
      return { actor_kind: 'app', actor_id: userId, actor_name: name, actor_app: clientName, actor_grant_id: grantId };
    }
    case 'operator':
      if (actor.isOfMachine === true) return { actor_kind: 'command', actor_id: null, actor_name: actor.name };
      return { actor_kind: 'operator', actor_id: actor.operatorId, actor_name: actor.name };
    case 'job':
      return { actor_kind: 'system', actor_id: null, actor_name: actor.name };
  }
}

/** Lists the changes of a team, newest first. */
export async function listAudit({ store, teamId }: Ctx, page: Page) {
  return listed(await auditPage(store.db, teamId, page));
}

/** Lists the changes of all teams and of the installation, newest first. */
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
  actor: {
    kind: row.actor_kind,
    id: row.actor_id,
    name: row.actor_name,
    app:
      row.actor_app === null || row.actor_grant_id === null
        ? null
        : { name: row.actor_app, grant_id: row.actor_grant_id },
  },
  address: row.address,
  user_agent: row.user_agent,
  request_id: row.request_id,
  details: row.details === null ? null : (JSON.parse(row.details) as unknown),
});
