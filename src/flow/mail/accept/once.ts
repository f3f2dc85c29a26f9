import { refuse } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../resources/access/index.ts';
import { storedAnswer, type Idempotency } from './idempotency.ts';

/** One request at a time for each idempotency key; a repeated request gets the answer of the first. */
export function createOnce(world: World) {
  const inFlight = new Set<string>();

  const answered = <Answer>(ctx: Ctx, idempotency: Idempotency | undefined): Promise<Answer | undefined> =>
    idempotency
      ? storedAnswer<Answer>(world.db, ctx.teamId, idempotency, world.clock.now())
      : Promise.resolve(undefined);

  async function once<Answer>(
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

  return { once, answered };
}
