import { getTeam, updateTeam } from '../resources/teams/index.ts';
import type { Operations } from './operation.ts';

export const teams = {
  getTeam: (ctx) => getTeam(ctx),
  updateTeam: (ctx, { body }) => updateTeam(ctx, body),
} satisfies Partial<Operations>;
