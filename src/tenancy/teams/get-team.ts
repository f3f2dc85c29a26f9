import type { TeamObject } from '../../contract/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { presentTeam } from './present.ts';
import { findTeam } from './teams.store.ts';

export async function getTeam(ctx: Ctx): Promise<TeamObject> {
  const row = await findTeam(ctx.store.db, ctx.teamId);
  if (!row) throw notFound('Team');
  return presentTeam(ctx.store, row);
}
