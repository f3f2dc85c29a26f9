/**
 * What is written in an inbox, on its way out: answers, forwards and drafts are composed, and accepted in the transaction in
 * which their thread takes them up.
 */
export { forwardEmail, previewForward, previewReply, replyToEmail } from './answer.ts';
export type { ComposedMail } from './composed-mail.ts';
export { previewDraft, sendDraft } from './send-draft.ts';
export { createDraft, updateDraft } from './write-drafts.ts';
