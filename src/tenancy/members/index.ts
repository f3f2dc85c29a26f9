/**
 * Members: which people are in a team, and with which role. Who may do what to whom is one table (`role-rules.ts`). Every
 * change is made under the lock of the team and by the role that the caller has behind it. A team is never without an owner.
 */
export { removeTeamMember, updateTeamMember } from './change-members.ts';
export {
  countExemptOwners,
  countOwned,
  findAccount,
  findMember,
  findMemberByEmail,
  findMemberByUser,
  hasMembers,
  insertMember,
  leadsSuspended,
  lockAccount,
  teamsOfLastWayIn,
  type AccountRow,
} from './members.store.ts';
export { lockPeople, mustBeOwnTeam } from './own-team.ts';
export { getTeamMember, listMembers, listTeamMembers, presentMember } from './read-members.ts';
export { withdrawAllInvitationsOf } from './sent-invitations.store.ts';
export { mustRule, ROLE_RULES, type PeopleAct } from './role-rules.ts';
