/**
 * Replies to received messages: which messages a reply refers to, what its subject is, and how one of ours is written.
 * Work is bounded for fields of any length. Nothing here decides what an id or an address means; the caller does.
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
export { forwardBelow, htmlOfText, quoteBelow, signBelow, type QuotedMessage, type Written } from './quote.ts';
export { extractNewText } from './new-text.ts';
