/**
 * The rows of sessions: who is signed in, and in which team. A session is in one team at a time, and ends when the
 * person loses the access there with which it began. Sessions begin in `sessions`; members and teams end and move them.
 */
export { mustHaveUsedPassword, mustBeBrowser } from './session-requirements.ts';
export {
  copySession,
  endAllSessions,
  endOtherSessions,
  endSession,
  endOwnSession,
  endSessionOfToken,
  endSessionsInTeam,
  endSessionsOfProviderSession,
  endSessionsOfUser,
  findTeamRequiringSso,
  endSsoSessions,
  findLiveSession,
  insertSession,
  kindOfSession,
  leaveTeam,
  MAY_REACH,
  moveSession,
  noteSessionUsed,
  ownerOfSession,
  PERSON_MAY_REACH,
  removeSessionsBefore,
  sessionPage,
  ssoTeamOfSession,
  teamOfSession,
  type LiveSession,
  type ProgramSession,
  type SessionKind,
  type SessionRow,
} from './session-rows.store.ts';
