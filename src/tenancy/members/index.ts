/**
 * Members: which people are in a team, and with which role. Who may do what to whom is one table (`ROLE_RULES` of `members.ts`). Every
 * change is made under the lock of the team and by the role that the caller has behind it. A team is never without an owner.
 */
export {
  removeTeamMember,
  updateTeamMember,
  lockPeople,
  mustBeOwnTeam,
  getTeamMember,
  listMembers,
  listTeamMembers,
  presentMember,
  mustRule,
  ROLE_RULES,
  type PeopleAct,
} from './members.ts';
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
  withdrawAllInvitationsOf,
} from './members.store.ts';
