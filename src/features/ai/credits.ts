import type { Executor } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import { lockTeam, type Ctx } from '../../tenancy/access/index.ts';
import { findTeam } from '../../tenancy/teams/index.ts';
import { countUsage, loadPlan, loadUsage } from '../../tenancy/usage/index.ts';
import { closeRequest, countOpen, insertRequest, removeOldRequests, requestsSince } from './ai.store.ts';

const REQUESTS_MAX = 10;
const WINDOW_MS = 60_000;

export interface Credits {
  limit: number;
  used: number;
  remaining: number;
}

/** An admitted request; it holds a credit until it is settled, given up or expires. */
export interface Admitted {
  id: string;
}

/** Throws unless the team has allowed its texts to be sent to the provider of a model. */
export async function mustBeSwitchedOn({ store, teamId }: Ctx): Promise<void> {
  const team = await findTeam(store.db, teamId);
  if (!team) throw notFound('Team');
  if (team.ai_assist_enabled === 1) return;
  throw refuse('invalid_permission', {
    say: 'The AI helpers are switched off for this team; switch them on with ai_assist_enabled of PATCH /team.',
  });
}

/**
 * Admits a request: checks the credits first, then the number of requests within a minute. `openMs` is how long it may
 * hold its credit; 0 is a request that costs none.
 */
export function admit(ctx: Ctx, { openMs }: { openMs: number }): Promise<Admitted> {
  const { store, teamId } = ctx;
  return store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    const now = store.clock.now();
    const since = now - WINDOW_MS;
    await removeOldRequests(tx, teamId, { now, since });
    if (openMs > 0) await mustHaveCredit(ctx, tx, now);
    const asked = await requestsSince(tx, teamId, since);
    if (asked.length >= REQUESTS_MAX) throw tooMany((asked.at(-REQUESTS_MAX) ?? now) + WINDOW_MS - now);
    const id = store.ids.uuid();
    await insertRequest(tx, {
      id,
      team_id: teamId,
      created_at: now,
      open_until: openMs > 0 ? now + openMs : null,
    });
    return { id };
  });
}

/** Throws if no credit is left. Requests in progress count: of fifty requests with one credit left, one is admitted. */
async function mustHaveCredit(ctx: Ctx, tx: Executor, now: number): Promise<void> {
  const { limit, used } = await loadCredits(ctx, tx);
  const open = await countOpen(tx, ctx.teamId, now);
  if (used + open < limit) return;
  const held = open === 0 ? '' : `, and ${open} more are in use`;
  throw refuse('validation_error', {
    status: 422,
    say: `This team has used ${used} of the ${limit} AI credits of its plan for this month${held}; credits used on an earlier plan count too (GET /usage).`,
  });
}

const tooMany = (waitMs: number) =>
  refuse('rate_limit_exceeded', {
    say: `A team may use the AI helpers ${REQUESTS_MAX} times a minute, including failed requests; wait a moment.`,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  });

export async function loadCredits({ store, teamId }: Ctx, db: Executor = store.db): Promise<Credits> {
  const { ai_credits: limit } = await loadPlan(store, db, teamId);
  const used = (await loadUsage(db, teamId, store.clock.now())).monthly.ai_answer;
  return { limit, used, remaining: Math.max(0, limit - used) };
}

/** Spends the credit of a request together with the writes of `keep`, atomically; returns the remaining credits. */
export function settle(
  ctx: Ctx,
  { id }: Admitted,
  keep: (tx: Executor) => Promise<void> = () => Promise.resolve(),
): Promise<Credits> {
  const { store, teamId } = ctx;
  return store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    const at = store.clock.now();
    if (!(await closeRequest(tx, id, at))) {
      throw refuse('service_unavailable', { say: 'The model took too long to answer; try again.' });
    }
    await countUsage(tx, { teamId, kind: 'ai_answer', at, count: 1 });
    await keep(tx);
    return loadCredits(ctx, tx);
  });
}

/** Releases the credit of a request, which then costs nothing. */
export async function giveUp({ store }: Ctx, { id }: Admitted): Promise<void> {
  await closeRequest(store.db, id, store.clock.now());
}
