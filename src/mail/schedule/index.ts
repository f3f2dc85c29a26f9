/**
 * Schedule: changing one's mind about an email that is not sent yet. Whether it came in time is decided by the database,
 * in the same rows the queue claims: an email is either canceled or sent, never both and never neither.
 */
export { cancelEmail, moveEmail } from './change-scheduled.ts';
