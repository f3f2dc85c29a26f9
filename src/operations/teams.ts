import { foundTeam, getTeam, listOwnTeams, switchTeam, updateTeam } from '../tenancy/teams/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const teams = {
  listTeams: (ctx, { query }) => listOwnTeams(ctx, pageOf(query)),
  createTeam: (ctx, { body }) => foundTeam(ctx, body),
  switchTeam: (ctx, { path }) => switchTeam(ctx, path.team_id),
  getTeam: (ctx) => getTeam(ctx),
  updateTeam: (ctx, { body }) => updateTeam(ctx, body),
} satisfies Partial<Operations>;
