/**
 * The rows of sessions: who is signed in, and in which team. A session is in one team at a time, and ends when the person loses
 * what it was opened with there. Sessions begin in `sessions`; members and teams end and move them.
 */
export {
  endAllSessions,
  endOtherSessionsOf,
  endSession,
  endSessionOfToken,
  endSessionsInTeam,
  endSessionsOf,
  findLiveSession,
  insertSession,
  moveSession,
  noteSessionUsed,
  removeSessionsBefore,
  teamOfSession,
  type LiveSession,
} from './session-rows.store.ts';
