import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal.ts';
import { ssoTeamOfSession, kindOfSession } from './session-rows.store.ts';

/**
 * What concerns a person beyond one team takes a session that they began with their password: the provider of a team, whose
 * owners choose it, speaks for them in that team alone.
 */
export async function mustHaveUsedPassword(db: Executor, sessionId: string): Promise<void> {
  if ((await ssoTeamOfSession(db, sessionId)) === null) return;
  throw refuse('invalid_permission', {
    say: 'This session began through the single sign-on of a team and reaches that team alone; sign in with your password to do this. Who has no password yet can have a link to choose one mailed.',
  });
}

/** How a person signs in is changed by the person in a browser, never by a program that was let in to work for them. */
export async function mustBeBrowser(db: Executor, sessionId: string): Promise<void> {
  if ((await kindOfSession(db, sessionId)) !== 'device') return;
  throw refuse('invalid_permission', {
    say: 'A program does not change how its person signs in; sign in from a browser to do it.',
  });
}
