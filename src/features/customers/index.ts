/**
 * Customers: everything that an installation has of one team. `team-tables.ts` says for every table how its rows belong
 * to a team; the export reads them by it, and the deletion removes them by it.
 */
export { HASHED_TABLES, listUnclassifiedTables } from './person-tables.ts';
export { exportPerson } from './export-person.ts';
export { exportTeam, type TeamManifest } from './export-team.ts';
export { removeTeam, type RemovalCounts, type RemovalEnd } from './remove-team.ts';
export { BILLED_PATHS, KEPT_TABLES, SECRET_COLUMNS, TEAM_PATHS, listUnknownTables } from './team-tables.ts';
