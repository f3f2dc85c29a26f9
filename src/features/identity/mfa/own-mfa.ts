import type { Executor } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import { audited, whoActed, type Audited } from '../../../tenancy/audit/index.ts';
import { teamOfSession } from '../../../tenancy/session-rows/index.ts';
import { findUser, type UserRow } from '../../../tenancy/users/index.ts';
import { secretOf, type SecretRow } from './mfa.store.ts';

/** Has the person told by mail what was done, in the transaction in which it was; the mails of accounts stand above this. */
export type Tell = (
  tx: Executor,
  store: Store,
  told: { userId: string; kind: MfaNotice; address: string | null },
) => Promise<unknown>;
export type MfaNotice = 'mfa_enabled' | 'mfa_disabled' | 'mfa_reset' | 'recovery_codes_replaced' | 'recovery_code_used';

const USER_AGENT_CHARS_MAX = 500;

export async function ownUser({ store, actor }: UserCtx): Promise<UserRow> {
  const user = await findUser(store.db, actor.userId);
  if (!user) throw notFound('User');
  return user;
}

/** The secret behind the second factor that is on. */
export async function ownSecret(ctx: UserCtx): Promise<SecretRow> {
  const secret = await secretOf(ctx.store.db, ctx.actor.userId);
  if (secret && secret.confirmed_at !== null) return secret;
  throw refuse('validation_error', { status: 422, say: 'The second factor is off.' });
}

/** Only what is done with a right code is entered in the audit log: a wrong one is counted, which changes the database too. */
export async function auditedAs(
  { store, actor, browser, requestId }: UserCtx,
  action: string,
): Promise<Audited<Store>> {
  const teamId = await teamOfSession(store.db, actor.sessionId, store.clock.now());
  return audited(store, {
    ...{ action, team_id: teamId ?? null, subject_id: actor.userId, ...whoActed(actor), details: null },
    ...{ address: browser.address, user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX) },
    request_id: requestId,
  });
}
