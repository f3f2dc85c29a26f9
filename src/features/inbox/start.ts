/**
 * What is written in an inbox, on its way out: answers, forwards and drafts are composed, and accepted in the transaction in
 * which their thread takes them up.
 */
export { previewForward, previewReply } from './composing/answer.ts';
export type { ComposedMail } from './composing/compose.ts';
export { previewDraft } from './composing/drafts.ts';
