/**
 * The log: one JSON line per happening, a fixed phrase and fields. Mail's own lines are all in mail-log.ts, so that
 * what an operator greps for stays stable and message content cannot slip in.
 */
export { createLog, type Log } from './log.ts';
export { createMailLog, ofEmail, type MailLog, type OfEmail } from './mail-log.ts';
