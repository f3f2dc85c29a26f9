export { removeDueTeams } from './remove-team.ts';
