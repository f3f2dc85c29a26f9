import type { World } from '../../../platform/world/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  admit,
  creditsOf,
  diagnose,
  factsOf,
  hashOfState,
  keepDiagnosis,
  mustBeSwitchedOn,
  storedDiagnosis,
  type Credits,
  type EmailFacts,
} from '../requests/index.ts';
import { getEmail, listEmailAttempts, listEmailEvents } from '../../../mail/emails/index.ts';
import { pendingDeliveries } from '../../../mail/queue/index.ts';
import { DIAGNOSIS } from './answers.ts';
import { askForCredit, type AiCtx } from './ask-for-credit.ts';
import { hasModel } from './ask-model.ts';
import { diagnosisTask } from './prompts.ts';

/** The newest of them; one that is opened more often has a story too long to tell. */
const PAGE = { limit: 100 };

/** What became of an email. A model puts into words what this server knows, where there is one. */
export async function diagnoseEmail(ctx: AiCtx, emailId: string) {
  await mustBeSwitchedOn(ctx);
  const facts = await factsOfEmail(ctx, emailId);
  const state = { emailId, stateHash: hashOfState(facts, authorOf(ctx.store)) };
  const stored = await storedDiagnosis(ctx.store.db, state);
  if (stored) {
    await admit(ctx, { openMs: 0 });
    return present(stored, true, await creditsOf(ctx));
  }
  return hasModel(ctx.store) ? inWords(ctx, facts, state) : byRules(ctx, facts, state);
}

interface State {
  emailId: string;
  stateHash: string;
}

async function byRules(ctx: Ctx<World>, facts: EmailFacts, state: State) {
  await admit(ctx, { openMs: 0 });
  const diagnosis = diagnose(facts);
  const createdAt = await ctx.store.db.tx((tx) => keepDiagnosis(tx, ctx, { ...state, diagnosis }));
  return present({ diagnosis, createdAt }, false, await creditsOf(ctx));
}

async function inWords(ctx: AiCtx, facts: EmailFacts, state: State) {
  const task = diagnosisTask({
    'what is known of the email': JSON.stringify(facts, null, 1),
    'what this server makes of it': JSON.stringify(diagnose(facts), null, 1),
  });
  let createdAt = 0;
  const { answer, credits } = await askForCredit(ctx, task, DIAGNOSIS, async (tx, diagnosis) => {
    createdAt = await keepDiagnosis(tx, ctx, { ...state, diagnosis });
  });
  return present({ diagnosis: answer, createdAt }, false, credits);
}

async function factsOfEmail(ctx: Ctx<World>, emailId: string): Promise<EmailFacts> {
  const email = await getEmail(ctx, emailId);
  const events = await listEmailEvents(ctx, emailId, PAGE);
  const attempts = await listEmailAttempts(ctx, emailId, PAGE);
  const pending = await pendingDeliveries(ctx.store, emailId);
  return factsOf({ email, events: events.data, attempts: attempts.data, pending, suppressed: attempts.suppressed });
}

const authorOf = ({ config: { ai } }: World): string => (ai.url === '' ? '' : `${ai.kind} ${ai.url} ${ai.model}`);

function present(
  { diagnosis, createdAt }: { diagnosis: ReturnType<typeof diagnose>; createdAt: number },
  stored: boolean,
  credits: Credits,
) {
  return {
    object: 'ai_diagnosis' as const,
    ...diagnosis,
    created_at: isoTime(createdAt),
    stored,
    credits_remaining: credits.remaining,
    credits,
  };
}
