import type { Executor, Page } from '../../../platform/db/index.ts';
import { notFound, type Refusal } from '../../../platform/refusal/index.ts';
import { audited, whoActed } from '../../../tenancy/audit/index.ts';
import type { ConsentCtx } from './consent.ts';
import { ssoTeamOfSession } from '../../../tenancy/session-rows/index.ts';
import { limitLocked } from './grants.ts';
import {
  findGrantOfUser,
  liveGrantPageOfUser,
  lockGrant,
  revokeGrantRow,
  type GrantRow,
  type OwnGrant,
} from './grants.store.ts';
import type { LimitsAsked } from './limits.ts';

const USER_AGENT_CHARS_MAX = 500;
const IS_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What a person has let in that may still act, in every team; by the single sign-on of a team, in that one. */
export async function listOwnGrants(
  { store, actor }: Pick<ConsentCtx, 'store' | 'actor'>,
  after: string | undefined,
): Promise<{ rows: OwnGrant[]; hasMore: boolean }> {
  const teamId = await ssoTeamOfSession(store.db, actor.sessionId);
  const page: Page = { limit: 50, after: after !== undefined && IS_ID.test(after) ? after : undefined };
  return liveGrantPageOfUser(store.db, { userId: actor.userId, teamId, now: store.clock.now() }, page);
}

/** Of this person alone, in whatever team the session reaches; the audit log of that team says so. One that has ended stays as it is. */
export const revokeOwnGrant = (ctx: ConsentCtx, id: string): Promise<void> =>
  changeOwn(ctx, id, { action: 'oauth_grant.revoked', details: null }, async (tx) => {
    await lockGrant(tx, id);
    await revokeGrantRow(tx, id, { at: ctx.store.clock.now(), reason: 'user' });
  });

/** As by `revokeOwnGrant`. */
export const limitOwnGrant = (ctx: ConsentCtx, id: string, asked: LimitsAsked): Promise<void> =>
  changeOwn(ctx, id, { action: 'oauth_grant.limited', details: JSON.stringify(asked) }, async (tx) => {
    await limitLocked(tx, await lockGrant(tx, id), { asked, now: ctx.store.clock.now() });
  });

export async function findOwnGrant(
  { store, actor }: Pick<ConsentCtx, 'store' | 'actor'>,
  id: string,
): Promise<GrantRow> {
  const found = IS_ID.test(id) ? await findGrantOfUser(store.db, actor.userId, id.toLowerCase()) : undefined;
  const only = await ssoTeamOfSession(store.db, actor.sessionId);
  if (!found || (only !== null && found.team_id !== only)) throw noGrant();
  return found;
}

async function changeOwn(
  ctx: ConsentCtx,
  id: string,
  { action, details }: { action: string; details: string | null },
  change: (tx: Executor) => Promise<void>,
): Promise<void> {
  const { store, actor, browser, requestId } = ctx;
  const found = await findOwnGrant(ctx, id);
  const audit = audited(store, {
    ...{ team_id: found.team_id, action, subject_id: found.id, ...whoActed(actor) },
    ...{ address: browser.address, user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX) },
    ...{ request_id: requestId, details },
  });
  await audit.store.db.tx(change);
}

const noGrant = (): Refusal => notFound('Grant');
