import { isUniqueViolation, type Executor } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { joinAsNewUser, openInvitationOf } from '../invitations/index.ts';
import { beginSession } from '../sessions/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { findUserByEmailKey, insertUser, type UserRow } from '../../../tenancy/users/index.ts';
import { auditedOf } from './audited-of.ts';
import { mustTakeSignUps } from './sign-up.ts';

/**
 * An account, a membership and a session, all of them or none. The token came to the address by mail, which verifies it; an
 * account that is there already needs its own password.
 */
export async function signUpByInvitation(
  ctx: NobodyCtx,
  { token, password, name = null }: { token: string; password: string; name?: string | null },
) {
  const { store } = ctx;
  mustTakeSignUps(store);
  const now = store.clock.now();
  const invitation = await openInvitationOf(store.db, token, now);
  await mustBeNew(store.db, invitation.email_key);
  const team = await findTeam(store.db, invitation.team_id);
  if (!team) throw notFound('Invitation');
  const user: UserRow = {
    ...{ id: store.ids.uuid(), email: invitation.email, email_key: invitation.email_key, name },
    ...{
      password_hash: await store.passwords.hash(password),
      email_verified_at: now,
      mfa_enabled_at: null,
      disabled_at: null,
      created_at: now,
    },
  };
  const created = auditedOf(ctx, { action: 'account.created', user, team_id: team.id });
  const joined = auditedOf(
    { ...ctx, store: created },
    { action: 'invitation.accepted', user, team_id: team.id, subject_id: null },
  );
  const join = async (tx: Executor): Promise<void> => {
    await mustBeNew(tx, user.email_key);
    await insertUser(tx, user);
    await joinAsNewUser(tx, invitation, { userId: user.id, memberId: store.ids.uuid(), now });
  };
  return beginSession({ ...ctx, store: joined }, user, join, { joined: team }).catch((error: unknown) => {
    throw isUniqueViolation(error) ? exists() : error;
  });
}

async function mustBeNew(db: Executor, emailKey: string): Promise<void> {
  if (await findUserByEmailKey(db, emailKey)) throw exists();
}

const exists = () =>
  refuse('resource_locked', { say: 'This address has an account already; sign in to accept the invitation.' });
