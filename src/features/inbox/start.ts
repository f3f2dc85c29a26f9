/**
 * Composes replies, forwards and drafts of an inbox, and accepts them in the transaction that adds them to their
 * thread.
 */
export { previewForward, previewReply } from './composing/answer.ts';
export type { ComposedMail } from './composing/compose.ts';
export { previewDraft, previewDraftTemplate } from './composing/drafts.ts';
