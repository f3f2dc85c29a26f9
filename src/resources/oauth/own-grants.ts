import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import { audited, whoActed } from '../audit/index.ts';
import type { ConsentCtx } from './consent.ts';
import { ssoTeamOfSession } from '../session-rows/index.ts';
import { findGrantOfUser, liveGrantPageOfUser, lockGrant, revokeGrantRow, type OwnGrant } from './grants.store.ts';

const USER_AGENT_CHARS_MAX = 500;
const IS_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What a person has let in that may still act, in every team; by the single sign-on of a team, in that one. */
export async function listOwnGrants(
  { store, actor }: Pick<ConsentCtx, 'store' | 'actor'>,
  after: string | undefined,
): Promise<{ rows: OwnGrant[]; hasMore: boolean }> {
  const teamId = await ssoTeamOfSession(store.db, actor.sessionId);
  const page: Page = { limit: 50, after: after !== undefined && IS_ID.test(after) ? after : undefined };
  return liveGrantPageOfUser(store.db, { userId: actor.userId, teamId }, page);
}

/** Of this person alone, in whatever team the session reaches; the audit log of that team says so. One that has ended stays as it is. */
export async function revokeOwnGrant({ store, actor, browser, requestId }: ConsentCtx, id: string): Promise<void> {
  const found = IS_ID.test(id) ? await findGrantOfUser(store.db, actor.userId, id) : undefined;
  const only = await ssoTeamOfSession(store.db, actor.sessionId);
  if (!found || (only !== null && found.team_id !== only)) throw notFound('Grant');
  const audit = audited(store, {
    ...{ team_id: found.team_id, action: 'oauth_grant.revoked', subject_id: id, ...whoActed(actor) },
    ...{ address: browser.address, user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX) },
    ...{ request_id: requestId, details: null },
  });
  await audit.store.db.tx(async (tx) => {
    await lockGrant(tx, id);
    await revokeGrantRow(tx, id, { at: store.clock.now(), reason: 'user' });
  });
}
