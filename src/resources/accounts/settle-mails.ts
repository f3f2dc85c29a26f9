import type { Store } from '../../platform/store/index.ts';
import { allTeamsOf } from '../sessions/index.ts';
import { audited } from '../audit/index.ts';
import { findUserByEmailKey, type UserRow } from '../users/index.ts';
import { countMailsAskedFor } from './account-mails.store.ts';
import { notePasswordResetMailed, removePasswordReset, type PasswordResetRow } from './password-resets.store.ts';
import { isInvited, removeSignUp, type SignUpRow } from './sign-ups.store.ts';

const HOUR_MS = 3_600_000;
const MAILS_PER_HOUR = 3;

/** What the person who asked for an account is to be told; undefined for nothing, and then the request is gone. */
export async function whatToTell(
  store: Store,
  row: SignUpRow,
): Promise<{ kind: 'verify' | 'exists'; to: string } | undefined> {
  if (!(await hasTooMany(store, row.email_key))) {
    const user = await findUserByEmailKey(store.db, row.email_key);
    // To the mailbox of the account: the address may be written so that it is a stranger's.
    if (user) return { kind: 'exists', to: user.email };
    const { sign_up: mode } = store.config.accounts;
    const may =
      mode === 'open' || (mode === 'invitation' && (await isInvited(store.db, row.email_key, store.clock.now())));
    if (may) return { kind: 'verify', to: row.email };
  }
  await removeSignUp(store.db, row.id);
  return undefined;
}

/** The account that a request for a new password is about; undefined where it gets no mail, and then the request is gone. */
export async function whoseReset(store: Store, row: PasswordResetRow): Promise<UserRow | undefined> {
  const user = await findUserByEmailKey(store.db, row.email_key);
  if (user && !(await hasTooMany(store, row.email_key))) return user;
  await removePasswordReset(store.db, row.id);
  return undefined;
}

/** From here on the token works, and the audit log knows of it. */
export async function noteResetMailed(
  store: Store,
  row: PasswordResetRow,
  { user, fault }: { user: UserRow; fault: string | null },
): Promise<void> {
  const [team] = await allTeamsOf(store.db, user.id);
  const { address, user_agent, request_id } = row;
  const audit = audited(store, {
    ...{ action: 'password.reset_requested', team_id: team?.id ?? null, subject_id: user.id },
    ...{ actor_kind: 'system', actor_id: null, actor_name: null, address, user_agent, request_id },
    details: JSON.stringify({ email: user.email }),
  });
  await audit.store.db.tx((tx) =>
    notePasswordResetMailed(tx, row.id, { userId: user.id, at: store.clock.now(), fault }),
  );
}

async function hasTooMany({ db, clock }: Store, emailKey: string): Promise<boolean> {
  return (await countMailsAskedFor(db, emailKey, clock.now() - HOUR_MS)) >= MAILS_PER_HOUR;
}
