/**
 * What is written in an inbox, on its way out: answers, forwards and drafts are composed, and accepted in the transaction in
 * which their thread takes them up.
 */
export { forwardEmail, previewForward, previewReply, replyToEmail } from './answer.ts';
export type { ComposedMail } from './compose.ts';
export { previewDraft, sendDraft, createDraft, updateDraft } from './drafts.ts';
