/**
 * The client's side of SMTP text: reading replies, saying what they mean for a message, and stuffing dots.
 * A malformed reply is a typed error of the peer's, never a guess; texts are safe to log and to show.
 * It opens no connection and decides nothing about retries.
 */
export { bounceOf, bounceRules } from './bounce.ts';
export type { Bounce, BounceRule, BounceSubType, BounceType } from './bounce.ts';
export { dotStuff, needsDotStuffing } from './dot-stuffing.ts';
export { MalformedReply, classifyReply, parseReplyLine, replyText } from './reply.ts';
export type { Reply, ReplyClass, ReplyFaultKind, ReplyLine } from './reply.ts';
export { ReplyParser } from './reply-parser.ts';
