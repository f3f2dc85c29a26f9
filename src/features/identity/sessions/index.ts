/**
 * Sessions: a person who is signed in, in one of their teams at a time. Of the token, in the cookie or of a program, only the hash is kept. The
 * role is read with every request, so that what a member has lost is gone at once. Attempts to sign in are counted before
 * the password is looked at. A person with a second factor is asked for a code first, which the same browser has to answer.
 */
export { recoverMfa, verifyMfa, logIn } from './log-in.ts';
export {
  createSessionAuthentication,
  HOST_SESSION_COOKIE,
  SESSION_COOKIE,
  SESSION_PREFIX,
  sessionCookiesIn,
  beginSession,
  beginProgramSession,
  listSessions,
  endOneSession,
  logOut,
  getMe,
  getSession,
  removeExpiredSessions,
} from './sessions.ts';
export {
  beginAttempt,
  countInvitation,
  countRequest,
  forgetAttemptsAt,
  forgiveAttempt,
  settleAttempt,
  settleFailedSignIn,
  countGuess,
  type Guess,
} from './attempts.ts';
export { failedSignIns, type FailedSignInRow, endAllChallenges } from './sign-ins.store.ts';
export { allTeamsOf } from './own-teams.store.ts';
