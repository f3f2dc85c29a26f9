/**
 * Answers to messages that others wrote: which messages theirs names, what it is about, and how one of ours is written.
 * It promises bounded work on fields of any length, and decides nothing: what an id or an address means is the caller's.
 */
export { readSubject, type SubjectRead } from './base-subject.ts';
export {
  messageIdsIn,
  type IdsTaken,
  REPLY_ADDRESS_DAYS,
  replyAddress,
  threadOfReplyAddress,
  withoutReplyToken,
  type ReplyTarget,
  childThreadIndex,
  readThreadIndex,
  type ThreadIndex,
  replyRecipients,
  type Correspondents,
  forwardSubject,
  replyFields,
  replySubject,
  type AnsweredMessage,
} from './reply-fields.ts';
export { forwardBelow, quoteBelow, signBelow, type QuotedMessage, type Written } from './quote.ts';
export { newTextOf } from './new-text.ts';
