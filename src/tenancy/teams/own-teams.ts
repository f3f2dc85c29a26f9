import type { TeamObject } from '../../contract/index.ts';
import { isUniqueViolation, type Page } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import type { UserCtx } from '../access/index.ts';
import { countOwned, findMemberByUser, insertMember, leadsSuspended, lockAccount } from '../members/index.ts';
import { moveSession, mustHaveUsedPassword, ssoTeamOfSession } from '../session-rows/index.ts';
import { isEnforced } from '../sso-rows/index.ts';
import { presentTeam, presentTeams } from './present.ts';
import { readTeamName, slugOf } from './team-name.ts';
import { findTeam, insertTeam, teamsOf } from './teams.store.ts';

const OWNED_MAX = 20;

export async function listOwnTeams({ store, actor }: UserCtx, page: Page) {
  const ssoTeamId = await ssoTeamOfSession(store.db, actor.sessionId);
  const { rows, hasMore } = await teamsOf(store.db, { userId: actor.userId, ssoTeamId }, page);
  return { object: 'list' as const, has_more: hasMore, data: await presentTeams(store, rows) };
}

/** The person who makes a team is its owner. It has no key yet: its people make the keys that they need. */
export async function foundTeam(ctx: UserCtx, input: { name: string }): Promise<TeamObject> {
  await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
  const name = readTeamName(input.name);
  const slug = slugOf(name);
  try {
    return await insertOwned(ctx, { name, slug });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    // Other teams are no business of this person, their names included.
    return insertOwned(ctx, { name, slug: `${slug}-${ctx.store.ids.uuid().slice(-8)}` });
  }
}

async function insertOwned({ store, actor }: UserCtx, { name, slug }: { name: string; slug: string }) {
  const { userId } = actor;
  const teamId = store.ids.uuid();
  const now = store.clock.now();
  return store.db.tx(async (tx) => {
    const account = await lockAccount(tx, userId);
    if (!account || account.email_verified_at === null) {
      throw refuse('invalid_permission', { say: 'Verify your address before you make a team.' });
    }
    // A team that is stopped would go on as another one.
    if (await leadsSuspended(tx, userId)) {
      throw refuse('invalid_permission', {
        say: 'A team of which you are an owner or admin is suspended; you can make no other one until that ends.',
      });
    }
    if ((await countOwned(tx, userId)) >= OWNED_MAX) {
      throw refuse('validation_error', { status: 422, say: `A person owns at most ${OWNED_MAX} teams.` });
    }
    const plan = store.config.team.default_plan;
    const team = { id: teamId, name, slug, risk_state: 'normal' as const, plan_code: plan, created_at: now };
    await insertTeam(tx, { ...team, admin_emails: JSON.stringify([account.email]) });
    const membership = { team_id: teamId, user_id: userId, role: 'owner' as const, sso_exempt: 0, created_at: now };
    await insertMember(tx, { id: store.ids.uuid(), ...membership });
    const row = await findTeam(tx, teamId);
    if (!row) throw new Error('a team that was just made is there');
    return presentTeam({ config: store.config, db: tx }, row);
  });
}

/** Its person must be in the team; every other team answers as one that does not exist. */
export async function switchTeam({ store, actor }: UserCtx, id: string): Promise<TeamObject> {
  const { sessionId, userId } = actor;
  const teamId = id.toLowerCase();
  const row = await store.db.tx(async (tx) => {
    if (!(await findMemberByUser(tx, teamId, userId))) return undefined;
    if (await moveSession(tx, { sessionId, userId, teamId })) return findTeam(tx, teamId);
    await mustHaveUsedPassword(tx, sessionId);
    if (await isEnforced(tx, teamId)) throw demandsSso(store.origin());
    return undefined;
  });
  if (!row) throw notFound('Team');
  return presentTeam(store, row);
}

const demandsSso = (origin: string) =>
  refuse('invalid_permission', {
    say: `This team enforces single sign-on; sign in through its provider: ${origin}/auth/sso/start`,
  });
