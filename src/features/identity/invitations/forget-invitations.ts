import type { Store } from '../../../platform/store/index.ts';
import { removeInvitationsEndedBefore } from './invitations.store.ts';

const KEPT_MS = 30 * 24 * 3_600_000;

/** An invitation that has ended is still shown for a while, so that it is known why the invited person did not come. Answers how many went. */
export const forgetInvitations = ({ db, clock }: Store): Promise<number> =>
  removeInvitationsEndedBefore(db, clock.now() - KEPT_MS);
