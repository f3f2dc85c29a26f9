import type { Executor } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { admit, giveUp, mustBeSwitchedOn, settle, type Credits } from '../requests/index.ts';
import type { AnswerForm } from './answers.ts';
import { askModel, hasModel, type Asking } from './ask-model.ts';
import type { Task } from './prompts.ts';

/** What is left of the time of a request when the model has used all of its own. */
const SETTLE_MS = 30_000;

/** A team that asks. */
export type AiCtx = Ctx<World> & Asking;

/** Before anything else is looked at. */
export async function mustHaveModel(ctx: Ctx<World>): Promise<void> {
  await mustBeSwitchedOn(ctx);
  if (hasModel(ctx.store)) return;
  throw refuse('service_unavailable', {
    say: 'This server asks no model; its operator sets one with ai.url and ai.model in the configuration.',
  });
}

/** Asks the model for a credit, which is spent with what `keep` writes, and given back where there is no answer. */
export async function askForCredit<Answer>(
  ctx: AiCtx,
  task: Task,
  form: AnswerForm<Answer>,
  keep?: (tx: Executor, answer: Answer) => Promise<void>,
): Promise<{ answer: Answer; credits: Credits }> {
  const admitted = await admit(ctx, { openMs: ctx.store.config.ai.timeout_seconds * 1000 + SETTLE_MS });
  try {
    const answer = await askModel(ctx, task, form);
    return { answer, credits: await settle(ctx, admitted, keep && ((tx) => keep(tx, answer))) };
  } catch (error) {
    await giveUp(ctx, admitted);
    throw error;
  }
}
