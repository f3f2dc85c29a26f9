import type { Executor } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { withdrawAllInvitationsOf } from '../members/index.ts';
import { revokeGrantsOfUser } from '../../features/identity/oauth/index.ts';
import { endSessionsOf } from '../session-rows/index.ts';
import { emailKeyOf } from './email-key.ts';
import { findUserByEmailKey, lockUser, setDisabled, type UserRow } from './users.store.ts';

export async function findNamedUser(db: Executor, email: string): Promise<UserRow> {
  const user = await findUserByEmailKey(db, emailKeyOf(email));
  if (!user) throw notFound('User');
  return user;
}

/** A person who has given the right password, or comes from single sign-on, is refused here before a session begins. */
export function mustNotBeDisabled({ disabled_at: at }: Pick<UserRow, 'disabled_at'>): void {
  if (at === null) return;
  throw refuse('invalid_permission', { say: 'This account is disabled; ask whoever runs this service.' });
}

/** A person as they are now, and how many open invitations of theirs were withdrawn. */
export type DisabledUser = UserRow & { invitations_withdrawn: number };

/**
 * The person signs in nowhere from now on, and every session ends, whatever apps may do for them, and the invitations that they
 * sent: those may be to addresses of their own. A new password withdraws none, for the person stays who invited.
 */
export const disableUser = (store: Store, email: string): Promise<DisabledUser> =>
  setState(store, email, store.clock.now());

export const enableUser = (store: Store, email: string): Promise<UserRow> => setState(store, email, null);

async function setState({ db }: Store, email: string, at: number | null): Promise<DisabledUser> {
  const { id } = await findNamedUser(db, email);
  return db.tx(async (tx) => {
    const user = await lockUser(tx, id);
    if (!user) throw notFound('User');
    if ((user.disabled_at === null) === (at === null)) {
      const state = at === null ? 'enabled' : 'disabled';
      throw refuse('resource_locked', { say: `${user.email} is ${state} already.` });
    }
    await setDisabled(tx, id, at);
    // Also when enabled: one that was begun at the very moment of the disabling must not come to life.
    await endSessionsOf(tx, id);
    const withdrawn = await withdrawAllInvitationsOf(tx, id);
    if (at !== null) await revokeGrantsOfUser(tx, id, { at, reason: 'operator' });
    return { ...user, disabled_at: at, invitations_withdrawn: withdrawn };
  });
}
