import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { keepAnswers, storedAnswer, type Idempotency } from './idempotency.ts';

/** What keeps an answer for the requests that repeat its own; in the transaction of what it answers. */
export type KeepAnswer = (tx: Executor, answer: unknown) => Promise<void>;

/** One request at a time for each idempotency key; a repeated request gets the answer of the first. */
export function createIdempotent(world: World) {
  const inFlight = new Set<string>();

  const answered = <Answer>(ctx: Ctx, idempotency: Idempotency | undefined): Promise<Answer | undefined> =>
    idempotency
      ? storedAnswer<Answer>(world.db, ctx.teamId, idempotency, world.clock.now())
      : Promise.resolve(undefined);

  async function withIdempotency<Answer>(
    ctx: Ctx,
    idempotency: Idempotency | undefined,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    if (!idempotency) return work();
    const key = `${ctx.teamId} ${idempotency.key}`;
    if (inFlight.has(key)) {
      throw refuse('concurrent_idempotent_requests', {
        say: 'A request with this Idempotency-Key is still being processed; wait for its answer and try again.',
      });
    }
    inFlight.add(key);
    try {
      return (await answered<Answer>(ctx, idempotency)) ?? (await work());
    } finally {
      inFlight.delete(key);
    }
  }

  /** For what is no mail: `work` writes in a transaction of its own, and keeps its answer there. */
  async function writeIdempotently<Answer>(
    ctx: Ctx,
    idempotency: Idempotency | undefined,
    work: (keep: KeepAnswer) => Promise<Answer>,
  ): Promise<Answer> {
    const { teamId } = ctx;
    const keep: KeepAnswer = async (tx, response) => {
      if (idempotency) await keepAnswers(tx, [{ teamId, idempotency, response }], world.clock.now());
    };
    return withIdempotency(ctx, idempotency, async () => {
      try {
        return await work(keep);
      } catch (error) {
        const stored = isUniqueViolation(error) ? await answered<Answer>(ctx, idempotency) : undefined;
        if (stored === undefined) throw error;
        return stored;
      }
    });
  }

  return { withIdempotency, writeIdempotently, answered };
}
