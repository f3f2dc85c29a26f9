/**
 * Teams: everything belongs to exactly one. A team may read itself and set the name of its sender; renaming, suspending
 * it and choosing its plan are up to its operator, never the API. Its operator makes it with a key, or a signed-in
 * person without.
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
export { isKeepable, keepTeam, requestDeletion, type DeletionRequest } from './deletions.ts';
export {
  beginDeletion,
  claimDeletion,
  dueDeletions,
  findDeletion,
  finishDeletion,
  listDeletions,
  noteRemoved,
  releaseDeletion,
  type DeletionRow,
} from './deletions.store.ts';
export {
  buildArchiveUrl,
  getTeam,
  presentTeam,
  presentTeams,
  foundTeam,
  keepPlaceholderAddress,
  listOwnTeams,
  readMarketingCap,
  renewArchive,
  switchTeam,
  updateTeam,
  type MarketingCap,
} from './own-teams.ts';
export {
  findNamedTeam,
  findTeam,
  findTeamOfArchive,
  countByPlan,
  hasOneTeam,
  listTeams,
  plansOfTeam,
  changeTeam,
  insertTeamPlan,
  loadSlugs,
  type TeamPlan,
  suspendedAmong,
  suspendedTeams,
  type RiskState,
  type TeamRow,
} from './teams.store.ts';
