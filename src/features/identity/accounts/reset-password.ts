import { isoTime } from '../../../platform/clock/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { revokeGrantsOfUser } from '../oauth/index.ts';
import { endSessionsOf } from '../../../tenancy/session-rows/index.ts';
import { allTeamsOf, countRequest, forgetAttemptsAt } from '../sessions/index.ts';
import {
  emailKeyOf,
  findUser,
  findUserByEmailKey,
  lockUser,
  noteVerified,
  readUserEmail,
  setPassword,
  type UserRow,
} from '../../../tenancy/users/index.ts';
import { insertAccountNotice, type AccountNoticeKind } from './account-mails.store.ts';
import { resetTokens } from './account-tokens.ts';
import { auditedOf } from './audited-of.ts';
import {
  endPasswordResetsOf,
  findPasswordResetByToken,
  insertPasswordReset,
  lockPasswordResetsOf,
  usePasswordReset,
  type PasswordResetRow,
} from './password-resets.store.ts';

const LIFE_MS = 3_600_000;
const USER_AGENT_CHARS_MAX = 500;

/** Notes the request and looks nothing up, so that neither the answer nor its time says whether there is an account. */
export async function requestPasswordReset({ store, browser, requestId }: NobodyCtx, written: string) {
  const emailKey = emailKeyOf(readUserEmail(written));
  const { address } = browser;
  await countRequest(store, 'password_reset', { emailKey, address });
  const row: PasswordResetRow = {
    ...newReset(store, emailKey),
    ...{ address, user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX), request_id: requestId },
  };
  await store.db.tx((tx) => insertPasswordReset(tx, row));
  return { object: 'password_reset' as const, requested: true as const };
}

/** A link that is handed over in another way, of an account that there is; no mail is sent. */
export async function makePasswordReset(
  store: Store,
  email: string,
  why = 'handed over by the operator',
): Promise<{ user: UserRow; token: string; expiresAt: string }> {
  const user = await findUserByEmailKey(store.db, emailKeyOf(email));
  if (!user) throw notFound('User');
  const row = {
    ...newReset(store, user.email_key),
    user_id: user.id,
    mailed_at: store.clock.now(),
    fault: why,
  };
  await store.db.tx((tx) => insertPasswordReset(tx, row));
  return { user, token: resetTokens.make(store.secrets, row.id), expiresAt: isoTime(row.expires_at) };
}

function newReset({ ids, clock, secrets }: Store, emailKey: string): PasswordResetRow {
  const id = ids.uuid();
  const now = clock.now();
  return {
    ...{ id, email_key: emailKey, user_id: null, token_hash: hashToken(resetTokens.make(secrets, id)) },
    ...{ address: null, user_agent: null, request_id: null, created_at: now, expires_at: now + LIFE_MS },
    ...{ admitted_at: null, mailed_at: null, fault: null, used_at: null },
  };
}

export async function confirmPasswordReset(ctx: NobodyCtx, { token, password }: { token: string; password: string }) {
  const { store } = ctx;
  const hash = hashToken(token);
  const now = store.clock.now();
  const row = await findPasswordResetByToken(store.db, hash);
  if (!row || row.user_id === null || row.used_at !== null || row.expires_at <= now) throw gone();
  const found = await findUser(store.db, row.user_id);
  if (!found) throw gone();
  const passwordHash = await store.passwords.hash(password);
  const [team] = await allTeamsOf(store.db, found.id);
  const held = auditedOf(ctx, { action: 'password.reset', user: found, team_id: team?.id ?? null });
  await held.db.tx(async (tx) => {
    // Behind the same lock as a session that begins: none comes in between.
    const user = await lockUser(tx, found.id);
    await lockPasswordResetsOf(tx, found.email_key);
    if (!user || !(await usePasswordReset(tx, row.id, now))) throw gone();
    await setPassword(tx, user.id, passwordHash);
    // The token came to the address by mail.
    await noteVerified(tx, user.id, now);
    await endSessionsOf(tx, user.id);
    // A thief of the old password may have let an app in.
    await revokeGrantsOfUser(tx, user.id, { at: now, reason: 'user' });
    await endPasswordResetsOf(tx, user.email_key);
    await forgetAttemptsAt(tx, user.email_key, ctx.browser.address);
    await tell(tx, store, { userId: user.id, kind: 'password_reset', address: ctx.browser.address });
  });
  return { object: 'user' as const, id: found.id };
}

/** The mail that says what was done is part of what was done. */
export const tell = (
  tx: Executor,
  { ids, clock }: Store,
  { userId, kind, address }: { userId: string; kind: AccountNoticeKind; address: string | null },
): Promise<number> =>
  insertAccountNotice(tx, {
    ...{ id: ids.uuid(), user_id: userId, kind, address },
    ...{ created_at: clock.now(), mailed_at: null, fault: null },
  });

/** Unknown, expired and used are one answer. */
const gone = () => notFound('Request for a new password');
