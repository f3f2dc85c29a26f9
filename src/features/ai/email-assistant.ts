import type { DraftEmailBodyRequest, SuggestSubjectLinesRequest } from '../../contract/index.ts';
import { refuse } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { admit, loadCredits, mustBeSwitchedOn, giveUp, settle, type Credits } from './credits.ts';
import {
  diagnose,
  buildFacts,
  hashOfState,
  keepDiagnosis,
  storedDiagnosis,
  type EmailFacts,
} from './email-diagnosis.ts';
import { getTemplate } from '../templates/index.ts';
import { newLinks } from './new-links.ts';
import {
  DRAFT,
  SUBJECT_LINES,
  draftTask,
  subjectLinesTask,
  DIAGNOSIS,
  diagnosisTask,
  type AnswerForm,
  type Task,
} from './model-tasks.ts';
import { isoTime } from '../../platform/clock.ts';
import { getEmail, listEmailAttempts, listEmailEvents } from '../../mail/emails/index.ts';
import { pendingDeliveries } from '../../mail/queue/index.ts';
import { hasModel, askModel, type Asking } from './ask-model.ts';
import type { Executor } from '../../platform/db/index.ts';

/** Time to settle a request when the model has used all of its own time. */
const SETTLE_MS = 30_000;

/** Context of a team's request. */
type AiCtx = Ctx<World> & Asking;

/** Throws unless AI is enabled and there is a model; checked before anything else. */
async function mustHaveModel(ctx: Ctx<World>): Promise<void> {
  await mustBeSwitchedOn(ctx);
  if (hasModel(ctx.store)) return;
  throw refuse('service_unavailable', {
    say: 'This server has no AI model; its operator can set one with ai.url and ai.model in the configuration.',
  });
}

/**
 * Asks the model for a credit, which is spent together with the writes of `keep`, and released if there is no result.
 */
async function askForCredit<Answer>(
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

export async function suggestSubjectLines(ctx: AiCtx, input: SuggestSubjectLinesRequest) {
  await mustHaveModel(ctx);
  const template = await loadTemplate(ctx, input.template_id);
  const task = subjectLinesTask({
    'the subject so far': input.subject ?? template?.subject ?? undefined,
    'the plain text of the email': input.text ?? template?.text ?? undefined,
    'the HTML of the email': input.html ?? template?.html,
    'who reads it': input.audience,
  });
  const { answer, credits } = await askForCredit(ctx, task, SUBJECT_LINES);
  const { suggestions } = answer;
  return { object: 'ai_subject_suggestions' as const, suggestions, credits_remaining: credits.remaining, credits };
}

/** Drafts a body, which is neither saved nor sent. */
export async function draftEmailBody(ctx: AiCtx, input: DraftEmailBodyRequest) {
  await mustHaveModel(ctx);
  const template = await loadTemplate(ctx, input.template_id);
  const { brief, tone = 'neutral', existing_html: existing } = input;
  const task = draftTask(tone, {
    'the brief: what the email is to say': brief,
    'existing HTML': existing,
    'the HTML of the template': template?.html,
    'the plain text of the template': template?.text ?? undefined,
  });
  const { answer, credits } = await askForCredit(ctx, task, DRAFT);
  const sources = [brief, existing, template?.html, template?.text].filter((text) => typeof text === 'string');
  return {
    object: 'ai_draft' as const,
    ...answer,
    new_links: newLinks(answer, sources),
    credits_remaining: credits.remaining,
    credits,
  };
}

const CHARS_MAX = 100_000;

/** Returns the edited version of a template, because the draft is for its next version. */
async function loadTemplate(ctx: Ctx<World>, id: string | undefined) {
  if (id === undefined) return undefined;
  const template = await getTemplate(ctx, id);
  const longest = Math.max(template.html.length, template.text?.length ?? 0);
  if (longest <= CHARS_MAX) return template;
  const message = `template_id: the template ${id} has a body of ${longest} characters; at most ${CHARS_MAX} can be sent to the model.`;
  throw refuse('validation_error', { status: 422, say: message, errors: [{ path: 'template_id', message }] });
}

/** Number of newest events; the history of an email that is opened more often is too long to summarize. */
const PAGE = { limit: 100 };

/** Explains what happened to an email. A model words the facts, if there is one. */
export async function diagnoseEmail(ctx: AiCtx, emailId: string) {
  await mustBeSwitchedOn(ctx);
  const facts = await factsOfEmail(ctx, emailId);
  const state = { emailId, stateHash: hashOfState(facts, formatAuthor(ctx.store)) };
  const stored = await storedDiagnosis(ctx.store.db, state);
  if (stored) {
    await admit(ctx, { openMs: 0 });
    return present(stored, true, await loadCredits(ctx));
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
  return present({ diagnosis, createdAt }, false, await loadCredits(ctx));
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
  return buildFacts({ email, events: events.data, attempts: attempts.data, pending, suppressed: attempts.suppressed });
}

const formatAuthor = ({ config: { ai } }: World): string => (ai.url === '' ? '' : `${ai.kind} ${ai.url} ${ai.model}`);

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
