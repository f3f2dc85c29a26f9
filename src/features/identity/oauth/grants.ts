import { ROLES } from '../../../contract/index.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { NO_LIMITS, type Actor, type Ctx, type OperatorCtx } from '../../../tenancy/access/index.ts';
import { audited, whoActed } from '../../../tenancy/audit/index.ts';
import { findClient } from './clients.store.ts';
import { removeAllAsks, removeCodesInTeam, removeCodesOfUser } from './asks.store.ts';
import {
  findGrant,
  findGrantById,
  findStanding,
  forgetAllRefresh,
  grantPage,
  liveGrantsOfMember,
  liveGrantsOfUser,
  lockGrant,
  revokeGrantRow,
  setLimits,
  type GrantRow,
  type RevokedReason,
} from './grants.store.ts';
import { changedLimits, readStored, storedLimits, type LimitsAsked } from './limits.ts';
import { presentGrant, presentRevoked } from './present.ts';
import { removeAllTokens } from './tokens.store.ts';

export async function listOauthGrants({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await grantPage(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentGrant) };
}

/** One that is revoked already stays as it is. */
export async function revokeOauthGrant({ store, teamId, actor }: Ctx, id: string) {
  const at = store.clock.now();
  return store.db.tx(async (tx) => {
    const grant = await lockForChange(tx, { teamId, actor }, id);
    if (grant.revoked_at !== null && grant.revoked_reason !== null) {
      return presentRevoked(id, { at: grant.revoked_at, reason: grant.revoked_reason });
    }
    const revoked = { at, reason: 'user' as const };
    await revokeGrantRow(tx, id, revoked);
    return presentRevoked(id, revoked);
  });
}

/** From the next call of the app on. */
export async function limitOauthGrant({ store, teamId, actor }: Ctx, id: string, asked: LimitsAsked) {
  return store.db.tx(async (tx) => {
    const grant = await lockForChange(tx, { teamId, actor }, id);
    return presentGrant(await limitLocked(tx, grant, { asked, now: store.clock.now() }));
  });
}

/** The grant is locked; one that has ended is none to limit. */
export async function limitLocked(
  tx: Executor,
  grant: GrantRow | undefined,
  { asked, now }: { asked: LimitsAsked; now: number },
): Promise<GrantRow> {
  if (!grant) throw notFound('Grant');
  if (grant.revoked_at !== null || (grant.expires_at !== null && grant.expires_at <= now)) {
    throw refuse('validation_error', { status: 422, say: 'This grant has ended; the app has to ask again.' });
  }
  const before = { limits: readStored(grant.limits), expiresAt: grant.expires_at };
  const { limits, expiresAt } = changedLimits(before, asked, now);
  const stored = storedLimits(limits);
  await setLimits(tx, grant.id, { limits: stored, expiresAt });
  return { ...grant, limits: stored, expires_at: expiresAt };
}

/** Of this team, for the person who has given it, or for an admin. */
async function lockForChange(tx: Executor, { teamId, actor }: Pick<Ctx, 'teamId' | 'actor'>, id: string) {
  if (!(await findGrant(tx, teamId, id))) throw notFound('Grant');
  const grant = await lockGrant(tx, id);
  if (!grant) throw notFound('Grant');
  const isOwn = actor.kind === 'session' && actor.userId === grant.user_id;
  const isAdmin = actor.kind !== 'session' || ROLES.indexOf(actor.role ?? 'viewer') >= ROLES.indexOf('admin');
  if (isOwn || isAdmin) return grant;
  throw refuse('invalid_permission', {
    say: 'You may change and revoke what you have allowed yourself; for what others have allowed it needs the role admin.',
  });
}

/** As the app called itself; the grant is locked to the end of the transaction. */
export async function nameOfGrant(tx: Executor, id: string): Promise<string> {
  const grant = await lockGrant(tx, id);
  if (!grant) throw notFound('Grant');
  return grant.client_name;
}

/** The app with all that its grant reaches at this moment, and no limits; undefined where the grant has ended. */
export async function actorOfGrant(
  { db, clock }: Store,
  id: string,
): Promise<Extract<Actor, { kind: 'oauth_grant' }> | undefined> {
  const grant = await findGrantById(db, id);
  if (!grant || grant.revoked_at !== null || (grant.expires_at !== null && grant.expires_at <= clock.now()))
    return undefined;
  const standing = await findStanding(db, grant);
  if (standing?.risk_state !== 'normal') return undefined;
  if ((await findClient(db, grant.client_id))?.disabled_at !== null) return undefined;
  const { user_id: userId, client_id: clientId, scopes } = grant;
  const { role, email: name } = standing;
  const person = { userId, name, role };
  return { kind: 'oauth_grant', grantId: id, clientId, ...person, scopes: scopes.split(' '), limits: NO_LIMITS };
}

/** Has the person told by mail, in the transaction in which it was done; the mails of accounts stand above this. */
export type Tell = (
  tx: Executor,
  store: Store,
  told: { userId: string; kind: 'app_shut_out'; address: string | null },
) => Promise<unknown>;

/** From where a step of OAuth came, for the audit log. */
export interface Origin {
  browser: { address: string; userAgent: string };
  requestId: string;
}

const USER_AGENT_CHARS_MAX = 500;

/** The service itself ends a grant, and says so in the audit log of its team, and where something may be wrong once by mail to its person. */
export async function revokeByItself(
  store: Store,
  { id, team_id: teamId, user_id: userId }: GrantRow,
  { reason, tell }: { reason: RevokedReason; tell?: Tell },
  { browser, requestId }: Origin,
): Promise<void> {
  const audit = audited(store, {
    ...{ team_id: teamId, action: 'oauth_grant.revoked', subject_id: id, ...whoActed({ kind: 'job', name: 'oauth' }) },
    ...{ address: browser.address, user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX) },
    ...{ request_id: requestId, details: JSON.stringify({ revoked_reason: reason }) },
  });
  await audit.store.db.tx(async (tx) => {
    const count = await revokeGrantRow(tx, id, { at: store.clock.now(), reason });
    if (count > 0) await tell?.(tx, store, { userId, kind: 'app_shut_out', address: browser.address });
  });
}

/** For an app that is shut out; the audit log of the grant's team has it too. */
export async function revokeByOperator(
  { store, actor, requestId }: OperatorCtx,
  { id, team_id: teamId }: GrantRow,
): Promise<void> {
  const audit = audited(store, {
    ...{ team_id: teamId, action: 'oauth_grant.revoked', subject_id: id, ...whoActed(actor) },
    ...{ address: null, user_agent: null, request_id: requestId },
    details: JSON.stringify({ revoked_reason: 'operator' }),
  });
  await audit.store.db.tx((tx) => revokeGrantRow(tx, id, { at: store.clock.now(), reason: 'operator' }));
}

/** Whatever apps were let in by a person, in every team; for a new password, and for a person who is shut out. */
export async function revokeGrantsOfUser(
  tx: Executor,
  userId: string,
  revoked: { at: number; reason: 'user' | 'operator' },
): Promise<void> {
  await removeCodesOfUser(tx, userId);
  for (const { id } of await liveGrantsOfUser(tx, userId)) await revokeGrantRow(tx, id, revoked);
}

/** Whatever apps were let in by a person in the team that they leave. */
export async function revokeGrantsOfMember(
  tx: Executor,
  { id, user_id: userId }: { id: string; user_id: string },
  at: number,
): Promise<void> {
  for (const grant of await liveGrantsOfMember(tx, userId, id)) {
    await revokeGrantRow(tx, grant.id, { at, reason: 'membership' });
  }
}

/** Whatever apps were let in by a person for one team. */
export async function revokeGrantsInTeam(
  tx: Executor,
  { userId, teamId }: { userId: string; teamId: string },
  revoked: { at: number; reason: 'user' | 'operator' },
): Promise<void> {
  await removeCodesInTeam(tx, { userId, teamId });
  const grants = await liveGrantsOfUser(tx, userId);
  for (const grant of grants) if (grant.team_id === teamId) await revokeGrantRow(tx, grant.id, revoked);
}

/** In a copy of an installation, whatever the original may have ended since: apps ask again. */
export async function endAllTokens(tx: Executor): Promise<void> {
  await removeAllAsks(tx);
  await removeAllTokens(tx);
  await forgetAllRefresh(tx);
}
