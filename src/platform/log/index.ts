/**
 * The log: one JSON line per event, with a fixed phrase and fields. All lines about mail are in mail-log.ts, so that
 * the texts operators search for stay stable and message content cannot slip in.
 */
export { createLog, type Log } from './log.ts';
export { createMailLog, emailLogFields, type MailLog, type OfEmail } from './mail-log.ts';
