/**
 * Members: the people of a team and their roles. One table defines what each role may do to the others (`ROLE_RULES` of
 * `members.ts`). Every change is made under the lock of the team, with the role that the caller has once the lock is
 * held. A team is never without an owner.
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
  withdrawAllInvitations,
} from './members.store.ts';
