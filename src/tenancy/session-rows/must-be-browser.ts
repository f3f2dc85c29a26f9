import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import { kindOfSession } from './session-rows.store.ts';

/** How a person signs in is changed by the person in a browser, never by a program that was let in to work for them. */
export async function mustBeBrowser(db: Executor, sessionId: string): Promise<void> {
  if ((await kindOfSession(db, sessionId)) !== 'device') return;
  throw refuse('invalid_permission', {
    say: 'A program does not change how its person signs in; sign in from a browser to do it.',
  });
}
