import { ROLES } from '../../../contract/index.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';
import { notFound, refuse, invalidField } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { NO_LIMITS, type Actor, type Ctx, type OperatorCtx, type GrantLimits } from '../../../tenancy/access/index.ts';
import { audited, describeActor } from '../../../tenancy/audit/index.ts';
import { findClient, type ListedClient, type NewClient } from './clients.store.ts';
import { removeAllAsks, removeCodesInTeam, removeCodesOfUser, removeAllTokens } from './tokens.store.ts';
import {
  findGrant,
  findGrantById,
  findGrantStatus,
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
import { isoTime } from '../../../platform/clock.ts';
import { parseIsoTime } from '../../../protocol/iso-time.ts';
import type { GrantType } from './client-metadata.ts';

/** Limits in the form that callers send. */
export interface LimitsAsked {
  read_only?: boolean;
  emails_per_day?: number | null;
  recipients?: GrantLimits['recipients'];
  approval?: GrantLimits['approval'];
  approval_above?: number;
  expires_at?: string | null;
}

/** Limits of an app, and the end of its grant. */
export interface Limited {
  limits: GrantLimits;
  expiresAt: number | null;
}

export const UNLIMITED: Limited = { limits: NO_LIMITS, expiresAt: null };

export const EMAILS_MAX = 1_000_000;

/** Applies a change to limits; omitted fields stay as they were. */
export function changedLimits({ limits, expiresAt }: Limited, asked: LimitsAsked, now: number): Limited {
  const { emails_per_day: emailsPerDay = limits.emailsPerDay } = asked;
  if (emailsPerDay !== null && (!Number.isInteger(emailsPerDay) || emailsPerDay < 1 || emailsPerDay > EMAILS_MAX)) {
    throw invalidField('emails_per_day', `emails_per_day must be a whole number from 1 to ${EMAILS_MAX}.`);
  }
  const { approval_above: approvalAbove = limits.approvalAbove } = asked;
  if (!Number.isInteger(approvalAbove) || approvalAbove < 1 || approvalAbove > EMAILS_MAX) {
    throw invalidField('approval_above', `approval_above must be a whole number from 1 to ${EMAILS_MAX}.`);
  }
  return {
    limits: {
      readOnly: asked.read_only ?? limits.readOnly,
      emailsPerDay,
      recipients: asked.recipients ?? limits.recipients,
      approval: asked.approval ?? limits.approval,
      approvalAbove,
    },
    expiresAt: asked.expires_at === undefined ? expiresAt : readEnd(asked.expires_at, now),
  };
}

function readEnd(text: string | null, now: number): number | null {
  if (text === null) return null;
  const time = parseIsoTime(text);
  if (time?.hasOffset && time.ms > now) return time.ms;
  const example = isoTime(now + 7 * 24 * 3_600_000);
  throw invalidField(
    'expires_at',
    `expires_at must be an ISO 8601 time in the future, with an offset, such as ${example}.`,
  );
}

/** Returns the value of the column `limits`; null if there are no limits. */
export const storedLimits = (limits: GrantLimits): string | null => {
  const text = JSON.stringify(limits);
  return text === JSON.stringify(NO_LIMITS) ? null : text;
};

export const readStored = (text: string | null): GrantLimits =>
  text === null ? NO_LIMITS : { ...NO_LIMITS, ...(JSON.parse(text) as Partial<GrantLimits>) };

export const presentLimits = ({ limits, expiresAt }: Limited) => ({
  read_only: limits.readOnly,
  emails_per_day: limits.emailsPerDay,
  recipients: limits.recipients,
  approval: limits.approval,
  approval_above: limits.approvalAbove,
  expires_at: expiresAt === null ? null : isoTime(expiresAt),
});

export async function listOauthGrants({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await grantPage(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentGrant) };
}

/** Revokes a grant; one that is already revoked stays as it is. */
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

/** Changes the limits of a grant, effective from the app's next call on. */
export async function limitOauthGrant({ store, teamId, actor }: Ctx, id: string, asked: LimitsAsked) {
  return store.db.tx(async (tx) => {
    const grant = await lockForChange(tx, { teamId, actor }, id);
    return presentGrant(await limitLocked(tx, grant, { asked, now: store.clock.now() }));
  });
}

/** Changes the limits of a locked grant. Throws if it has ended. */
export async function limitLocked(
  tx: Executor,
  grant: GrantRow | undefined,
  { asked, now }: { asked: LimitsAsked; now: number },
): Promise<GrantRow> {
  if (!grant) throw notFound('Grant');
  if (grant.revoked_at !== null || (grant.expires_at !== null && grant.expires_at <= now)) {
    throw refuse('validation_error', {
      status: 422,
      say: 'This grant has ended; the app has to request access again.',
    });
  }
  const before = { limits: readStored(grant.limits), expiresAt: grant.expires_at };
  const { limits, expiresAt } = changedLimits(before, asked, now);
  const stored = storedLimits(limits);
  await setLimits(tx, grant.id, { limits: stored, expiresAt });
  return { ...grant, limits: stored, expires_at: expiresAt };
}

/** Locks a grant of this team. Throws unless the caller is the person who gave it, or an admin. */
async function lockForChange(tx: Executor, { teamId, actor }: Pick<Ctx, 'teamId' | 'actor'>, id: string) {
  if (!(await findGrant(tx, teamId, id))) throw notFound('Grant');
  const grant = await lockGrant(tx, id);
  if (!grant) throw notFound('Grant');
  const isOwn = actor.kind === 'session' && actor.userId === grant.user_id;
  const isAdmin = actor.kind !== 'session' || ROLES.indexOf(actor.role ?? 'viewer') >= ROLES.indexOf('admin');
  if (isOwn || isAdmin) return grant;
  throw refuse('invalid_permission', {
    say: 'You can change and revoke the access that you granted yourself. Changing access that others granted requires the role admin.',
  });
}

/** Returns the name of the app at consent, and locks the grant until the end of the transaction. */
export async function nameOfGrant(tx: Executor, id: string): Promise<string> {
  const grant = await lockGrant(tx, id);
  if (!grant) throw notFound('Grant');
  return grant.client_name;
}

/**
 * Returns the app as an actor with everything its grant permits now, without limits; undefined if the grant has ended.
 */
export async function actorOfGrant(
  { db, clock }: Store,
  id: string,
): Promise<Extract<Actor, { kind: 'oauth_grant' }> | undefined> {
  const grant = await findGrantById(db, id);
  if (!grant || grant.revoked_at !== null || (grant.expires_at !== null && grant.expires_at <= clock.now()))
    return undefined;
  const status = await findGrantStatus(db, grant);
  if (status?.risk_state !== 'normal') return undefined;
  if ((await findClient(db, grant.client_id))?.disabled_at !== null) return undefined;
  const { user_id: userId, client_id: clientId, client_name: clientName, scopes } = grant;
  const { role, email: name } = status;
  const person = { userId, name, role };
  return {
    kind: 'oauth_grant',
    grantId: id,
    clientId,
    clientName,
    ...person,
    scopes: scopes.split(' '),
    limits: NO_LIMITS,
  };
}

/**
 * Notifies the person by mail, in the transaction of the change. Passed in because account mails belong to a higher
 * layer.
 */
export type NotifyByMail = (
  tx: Executor,
  store: Store,
  told: { userId: string; kind: 'app_shut_out'; address: string | null },
) => Promise<unknown>;

/** Origin of a request in OAuth, for the audit log. */
interface Origin {
  browser: { address: string; userAgent: string };
  requestId: string;
}

const USER_AGENT_CHARS_MAX = 500;

/**
 * Revokes a grant on behalf of the service itself, and records it in the audit log of its team. If `notify` is given, the
 * person is notified once by mail, because something may be wrong.
 */
export async function revokeByItself(
  store: Store,
  { id, team_id: teamId, user_id: userId }: GrantRow,
  { reason, notify }: { reason: RevokedReason; notify?: NotifyByMail },
  { browser, requestId }: Origin,
): Promise<void> {
  const audit = audited(store, {
    team_id: teamId,
    action: 'oauth_grant.revoked',
    subject_id: id,
    ...describeActor({ kind: 'job', name: 'oauth' }),
    address: browser.address,
    user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    request_id: requestId,
    details: JSON.stringify({ revoked_reason: reason }),
  });
  await audit.store.db.tx(async (tx) => {
    const count = await revokeGrantRow(tx, id, { at: store.clock.now(), reason });
    if (count > 0) await notify?.(tx, store, { userId, kind: 'app_shut_out', address: browser.address });
  });
}

/** Revokes a grant of an app that the operator disables, and records it in the audit log of the grant's team. */
export async function revokeByOperator(
  { store, actor, requestId }: OperatorCtx,
  { id, team_id: teamId }: GrantRow,
): Promise<void> {
  const audit = audited(store, {
    team_id: teamId,
    action: 'oauth_grant.revoked',
    subject_id: id,
    ...describeActor(actor),
    address: null,
    user_agent: null,
    request_id: requestId,
    details: JSON.stringify({ revoked_reason: 'operator' }),
  });
  await audit.store.db.tx((tx) => revokeGrantRow(tx, id, { at: store.clock.now(), reason: 'operator' }));
}

/** Revokes all grants of a person in every team, after a new password or when the person is disabled. */
export async function revokeGrantsOfUser(
  tx: Executor,
  userId: string,
  revoked: { at: number; reason: 'user' | 'operator' },
): Promise<void> {
  await removeCodesOfUser(tx, userId);
  for (const { id } of await liveGrantsOfUser(tx, userId)) await revokeGrantRow(tx, id, revoked);
}

/** Revokes all grants of a person in the team that they leave. */
export async function revokeGrantsOfMember(
  tx: Executor,
  { id, user_id: userId }: { id: string; user_id: string },
  at: number,
): Promise<void> {
  for (const grant of await liveGrantsOfMember(tx, userId, id)) {
    await revokeGrantRow(tx, grant.id, { at, reason: 'membership' });
  }
}

/** Revokes all grants of a person for one team. */
export async function revokeGrantsInTeam(
  tx: Executor,
  { userId, teamId }: { userId: string; teamId: string },
  revoked: { at: number; reason: 'user' | 'operator' },
): Promise<void> {
  await removeCodesInTeam(tx, { userId, teamId });
  const grants = await liveGrantsOfUser(tx, userId);
  for (const grant of grants) if (grant.team_id === teamId) await revokeGrantRow(tx, grant.id, revoked);
}

/** Ends all tokens in a restored copy, because the original may have ended some of them since; apps must ask again. */
export async function endAllTokens(tx: Executor): Promise<void> {
  await removeAllAsks(tx);
  await removeAllTokens(tx);
  await forgetAllRefresh(tx);
}

/** Presents a registration as in RFC 7591 §3.2.1: omitted fields stay omitted. */
export const presentClient = (store: Store, row: NewClient) => ({
  client_id: row.client_id,
  client_id_issued_at: Math.floor(row.created_at / 1000),
  registration_client_uri: `${store.origin()}/oauth/register/${row.client_id}`,
  client_name: row.name,
  redirect_uris: JSON.parse(row.redirect_uris) as string[],
  grant_types: JSON.parse(row.grant_types) as GrantType[],
  response_types: ['code' as const],
  token_endpoint_auth_method: 'none' as const,
  ...(row.scope !== null && { scope: row.scope }),
  ...(row.client_uri !== null && { client_uri: row.client_uri }),
  ...(row.logo_uri !== null && { logo_uri: row.logo_uri }),
  ...(row.software_id !== null && { software_id: row.software_id }),
  ...(row.software_version !== null && { software_version: row.software_version }),
});

/** Presents a client to the operator. */
export const presentListedClient = (row: ListedClient) => ({
  object: 'oauth_client' as const,
  id: row.id,
  client_id: row.client_id,
  client_name: row.name,
  redirect_uris: JSON.parse(row.redirect_uris) as string[],
  client_uri: row.client_uri,
  live_grants: row.live_grants,
  created_at: isoTime(row.created_at),
  used_at: row.used_at === null ? null : isoTime(row.used_at),
  disabled_at: row.disabled_at === null ? null : isoTime(row.disabled_at),
  disabled_reason: row.disabled_reason,
  disabled_by: row.disabled_by,
});

const presentGrant = (row: GrantRow) => ({
  id: row.id,
  client_id: row.client_id,
  scopes: row.scopes.split(' '),
  created_at: isoTime(row.created_at),
  revoked_at: row.revoked_at === null ? null : isoTime(row.revoked_at),
  revoked_reason: row.revoked_reason,
  client: { name: row.client_name, logo_uri: row.client_logo_uri },
  limits: presentLimits({ limits: readStored(row.limits), expiresAt: row.expires_at }),
});

const presentRevoked = (id: string, revoked: { at: number; reason: RevokedReason }) => ({
  object: 'oauth_grant' as const,
  id,
  revoked_at: isoTime(revoked.at),
  revoked_reason: revoked.reason,
});
