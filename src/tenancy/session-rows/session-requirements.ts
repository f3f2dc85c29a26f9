import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal.ts';
import { ssoTeamOfSession, kindOfSession } from './session-rows.store.ts';

/**
 * Requires a session that began with the person's password, for matters beyond one team: the provider of a team, which
 * its owners choose, identifies people in that team alone.
 */
export async function mustHaveUsedPassword(db: Executor, sessionId: string): Promise<void> {
  if ((await ssoTeamOfSession(db, sessionId)) === null) return;
  throw refuse('invalid_permission', {
    say: 'This session was started with the single sign-on of a team and is limited to that team; sign in with your password to do this. If you have no password yet, request a password reset.',
  });
}

/** Requires a browser session: only the person changes how they sign in, never a program that works for them. */
export async function mustBeBrowser(db: Executor, sessionId: string): Promise<void> {
  if ((await kindOfSession(db, sessionId)) !== 'device') return;
  throw refuse('invalid_permission', {
    say: 'A program cannot change how a person signs in; sign in with a browser to do this.',
  });
}
