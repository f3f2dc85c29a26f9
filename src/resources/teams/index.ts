/** Teams: everything belongs to exactly one. A team is made by the operator, never through the API. */
export { createTeam, type NewTeam } from './create-team.ts';
export { listTeams, type TeamRow } from './teams.store.ts';
