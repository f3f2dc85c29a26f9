import { diagnoseEmail, draftEmailBody, suggestSubjectLines } from '../features/ai/model/index.ts';
import type { Operations } from './operation.ts';

export const ai = {
  suggestSubjectLines: (ctx, { body }) => suggestSubjectLines(ctx, body),
  draftEmailBody: (ctx, { body }) => draftEmailBody(ctx, body),
  diagnoseEmail: (ctx, { path }) => diagnoseEmail(ctx, path.email_id),
} satisfies Partial<Operations>;
