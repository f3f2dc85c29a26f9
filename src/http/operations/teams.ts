import type { UpdateTeamRequest } from '../../contract/index.ts';
import { getTeam, updateTeam } from '../../resources/teams/index.ts';
import type { KeyHandler } from '../operation.ts';

export const teams: Record<string, KeyHandler> = {
  getTeam: (ctx) => getTeam(ctx),
  updateTeam: (ctx, { body }) => updateTeam(ctx, body as UpdateTeamRequest),
};
