/**
 * Sessions: who is signed in, and in which team. A session is in one team at a time, and ends when the person loses what it
 * was opened with there.
 */
export { endSessionsInTeam, moveSession } from './sessions.store.ts';
