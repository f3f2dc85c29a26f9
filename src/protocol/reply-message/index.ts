/**
 * Answers to messages that others wrote: which messages theirs names, what it is about, and how one of ours is written.
 * It promises bounded work on fields of any length, and decides nothing: what an id or an address means is the caller's.
 */
export { readSubject, type SubjectRead } from './base-subject.ts';
export { messageIdsIn, type IdsTaken } from './message-ids.ts';
export {
  REPLY_ADDRESS_DAYS,
  replyAddress,
  threadOfReplyAddress,
  withoutReplyToken,
  type ReplyTarget,
} from './reply-address.ts';
export { childThreadIndex, readThreadIndex, type ThreadIndex } from './thread-index.ts';
export { forwardBelow, quoteBelow, signBelow, type QuotedMessage, type Written } from './quote.ts';
export { replyRecipients, type Correspondents } from './recipients.ts';
export { forwardSubject, replyFields, replySubject, type AnsweredMessage } from './reply-fields.ts';
export { newTextOf } from './new-text.ts';
