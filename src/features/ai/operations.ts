import type { Asking } from './ask-model.ts';
import { diagnoseEmail, draftEmailBody, suggestSubjectLines } from './email-assistant.ts';
import { type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

export const ai = {
  suggestSubjectLines: (ctx, { body }) => suggestSubjectLines(ctx, body),
  draftEmailBody: (ctx, { body }) => draftEmailBody(ctx, body),
  diagnoseEmail: (ctx, { path }) => diagnoseEmail(ctx, path.email_id),
} satisfies OperationTable<World, Asking>;
