import { isoTime } from '../../../platform/clock/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import { presentTeam, presentTeams } from '../../../tenancy/teams/index.ts';
import { findUser, presentUser } from '../../../tenancy/users/index.ts';
import { currentTeamOf, teamsInSight } from './own-teams.store.ts';

export async function getSession(ctx: UserCtx) {
  const { user, current } = await read(ctx);
  return {
    object: 'session' as const,
    user: presentUser(user),
    current_team: current ? await presentTeam(ctx.store, current) : null,
  };
}

export async function getMe(ctx: UserCtx) {
  const { user, current } = await read(ctx);
  const { created_at: _, ...shown } = presentUser(user);
  const teams = await teamsInSight(ctx.store.db, ctx.actor);
  return {
    ...shown,
    mfa_enabled_at: user.mfa_enabled_at === null ? null : isoTime(user.mfa_enabled_at),
    current_team_id: current?.id ?? null,
    teams: await presentTeams(ctx.store, teams),
  };
}

async function read({ store, actor }: UserCtx) {
  const user = await findUser(store.db, actor.userId);
  if (!user) throw notFound('User');
  return { user, current: await currentTeamOf(store.db, actor.sessionId) };
}
