/**
 * The client's side of SMTP text: parses replies, classifies what they mean for a message, and stuffs dots.
 * A malformed reply is a typed error of the peer's, never a guess; texts are safe to log and to show.
 * It opens no connection and decides nothing about retries.
 */
export {
  bounceOfReply,
  CAUSES,
  type Responsible,
  classifyReply,
  findProvider,
  isRetried,
  type Bounce,
  type BounceSubType,
  type BounceType,
  type Classification,
  type ReceivedReply,
  type ReplyCause,
  type ReplyProvider,
  type ReplyRule,
  type ReplyRules,
  type ReplyStage,
} from './reply-cause.ts';
export {
  dotStuff,
  MalformedReply,
  replyText,
  type Reply,
  type ReplyFaultKind,
  type ReplyLine,
  ReplyParser,
} from './reply.ts';
