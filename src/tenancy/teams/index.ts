/**
 * Teams: everything belongs to exactly one. A team reads itself and says who sends for it; renaming, suspending it and
 * choosing its plan are its operator's, never the API's. Its operator makes it with a key, or a person who is signed in.
 */
export {
  createTeam,
  type NewTeam,
  readTeamName,
  administerTeam,
  changePlan,
  knownPlan,
  type TeamChange,
} from './administer-team.ts';
export {
  getTeam,
  presentTeam,
  presentTeams,
  foundTeam,
  keepPlaceholderAddress,
  listOwnTeams,
  switchTeam,
  updateTeam,
} from './own-teams.ts';
export {
  findNamedTeam,
  findTeam,
  countByPlan,
  listTeams,
  plansOfTeam,
  slugsOf,
  type TeamPlan,
  suspendedAmong,
  suspendedTeams,
  type RiskState,
  type TeamRow,
} from './teams.store.ts';
