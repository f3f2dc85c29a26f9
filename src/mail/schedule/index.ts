/**
 * Schedule: canceling and moving an email that is not sent yet. The database decides whether the request came in time,
 * in the same rows that the queue claims: an email is either canceled or sent, never both and never neither.
 */
export { cancelEmail, moveEmail } from './change-scheduled.ts';
