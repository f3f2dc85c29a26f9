import type { Role } from '../../../contract/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { findUser, findUserByEmailKey } from '../../../tenancy/users/index.ts';
import { findInvitationByToken } from './invitations.store.ts';

export interface ShownInvitation {
  team: string;
  email: string;
  role: Role;
  /** The address of the person who invited; null where the operator did, or the person is gone. */
  inviter: string | null;
  /** Whose the address is; null while it has no account. */
  userId: string | null;
}

/** What the holder of the token is shown; undefined once nothing can come of it. One that was accepted still leads its person in. */
export async function lookAtInvitation({ db, clock }: Store, token: string): Promise<ShownInvitation | undefined> {
  const found = await findInvitationByToken(db, hashToken(token));
  if (!found) return undefined;
  const team = await findTeam(db, found.team_id);
  const user = await findUserByEmailKey(db, found.email_key);
  const isOver = found.accepted_at === null ? found.expires_at <= clock.now() : !user;
  if (!team || isOver) return undefined;
  const inviter = await findUser(db, found.invited_by);
  const { email, role } = found;
  return { team: team.name, email, role, inviter: inviter?.email ?? null, userId: user?.id ?? null };
}
