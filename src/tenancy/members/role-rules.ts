import { ROLES, type Role } from '../../contract/index.ts';
import { refuse } from '../../platform/refusal/index.ts';

export type PeopleAct = 'invite' | 'change' | 'remove';

const BELOW_OWNER: readonly Role[] = ['viewer', 'member', 'admin'];

/**
 * What a person of each role may do to people of which roles. To change a role, both the old and the new one must be
 * named. Beside this table stand two rules: everybody may leave, and a team keeps its last owner.
 */
export const ROLE_RULES: Record<Role, Record<PeopleAct, readonly Role[]>> = {
  viewer: { invite: [], change: [], remove: [] },
  member: { invite: [], change: [], remove: [] },
  admin: { invite: BELOW_OWNER, change: BELOW_OWNER, remove: BELOW_OWNER },
  owner: { invite: ROLES, change: ROLES, remove: ROLES },
};

const IN_WORDS: Record<PeopleAct, string> = {
  invite: 'invites nobody as',
  change: 'neither gives nor takes the role',
  remove: 'removes nobody who is',
};

/** Refuses what the table does not allow to a person of the role `held`. */
export function mustRule(held: Role, act: PeopleAct, roles: readonly Role[]): void {
  const refused = roles.find((role) => !ROLE_RULES[held][act].includes(role));
  if (refused === undefined) return;
  throw refuse('invalid_permission', { say: `A person with the role ${held} ${IN_WORDS[act]} ${refused}.` });
}
