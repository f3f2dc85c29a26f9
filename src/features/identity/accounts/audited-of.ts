import type { Store } from '../../../platform/store/index.ts';
import type { Browser } from '../../../tenancy/access/index.ts';
import { audited, type AuditNote } from '../../../tenancy/audit/index.ts';

const USER_AGENT_CHARS_MAX = 500;

/** A store whose first change enters what a person did for their own account without being signed in. */
export function auditedOf(
  { store, browser, requestId }: { store: Store; browser: Pick<Browser, 'address' | 'userAgent'>; requestId: string },
  {
    action,
    user,
    team_id,
    subject_id = user.id,
  }: Pick<AuditNote, 'action' | 'team_id'> & { user: { id: string; email: string }; subject_id?: string | null },
): Store {
  return audited(store, {
    ...{ action, team_id, subject_id, actor_kind: 'user', actor_id: user.id, actor_name: user.email },
    ...{ address: browser.address, user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX) },
    ...{ request_id: requestId, details: null },
  }).store;
}
