import type { DraftEmailBodyRequest, SuggestSubjectLinesRequest } from '../../../contract/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { newLinks } from '../requests/index.ts';
import { getTemplate } from '../../templates/templates/index.ts';
import { DRAFT, SUBJECT_LINES } from './answers.ts';
import { askForCredit, mustHaveModel, type AiCtx } from './ask-for-credit.ts';
import { draftTask, subjectLinesTask } from './prompts.ts';

export async function suggestSubjectLines(ctx: AiCtx, input: SuggestSubjectLinesRequest) {
  await mustHaveModel(ctx);
  const template = await templateOf(ctx, input.template_id);
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

/** What it answers is neither saved nor sent. */
export async function draftEmailBody(ctx: AiCtx, input: DraftEmailBodyRequest) {
  await mustHaveModel(ctx);
  const template = await templateOf(ctx, input.template_id);
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

/** As it is being edited: what is written for it is written for the next version. */
async function templateOf(ctx: Ctx<World>, id: string | undefined) {
  if (id === undefined) return undefined;
  const template = await getTemplate(ctx, id);
  const longest = Math.max(template.html.length, template.text?.length ?? 0);
  if (longest <= CHARS_MAX) return template;
  const message = `template_id: the template ${id} has a body of ${longest} characters; the model is sent at most ${CHARS_MAX}.`;
  throw refuse('validation_error', { status: 422, say: message, errors: [{ path: 'template_id', message }] });
}
