/**
 * Sessions: a person who is signed in, in one of their teams at a time. Of the token, in the cookie or of a program, only the hash is kept. The
 * role is read with every request, so that what a member has lost is gone at once. Attempts to sign in are counted before
 * the password is looked at. A person with a second factor is asked for a code first, which the same browser has to answer.
 */
export { recoverMfa, verifyMfa } from './answer-challenge.ts';
export {
  createSessionAuthentication,
  HOST_SESSION_COOKIE,
  SESSION_COOKIE,
  SESSION_PREFIX,
  sessionCookiesIn,
} from './authenticate-session.ts';
export {
  beginAttempt,
  countInvitation,
  countRequest,
  forgetAttemptsAt,
  forgiveAttempt,
  settleAttempt,
} from './attempts.ts';
export { beginSession } from './begin-session.ts';
export { settleFailedSignIn } from './failed-sign-ins.ts';
export { failedSignIns, type FailedSignInRow } from './failed-sign-ins.store.ts';
export { endAllChallenges } from './challenges.store.ts';
export { beginProgramSession } from './begin-program-session.ts';
export { countGuess, type Guess } from './guesses.ts';
export { listSessions } from './list-sessions.ts';
export { logIn } from './log-in.ts';
export { endOneSession, logOut } from './log-out.ts';
export { getMe, getSession } from './read-session.ts';
export { allTeamsOf } from './own-teams.store.ts';
export { removeExpiredSessions } from './remove-expired-sessions.ts';
