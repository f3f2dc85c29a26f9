import { createUnleasedLoop, type WorkLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { failedSignIns, settleFailedSignIn, type FailedSignInRow } from '../sessions/index.ts';

/** No commit wakes it, as with the mails of accounts. */
const POLL_MS = 2000;
const AT_ONCE = 10;

/** Enters into the audit log which attempts to sign in failed that concern an account. */
export function createFailedSignIns(world: World): WorkLoop {
  const { db, clock, log } = world;
  return createUnleasedLoop<FailedSignInRow>({
    ...{ name: 'failed sign-ins', db, clock, log, pollMs: POLL_MS, atOnceMax: AT_ONCE },
    wakeOn: [],
    due: (limit) => failedSignIns(db, limit),
    carry: (row) => settleFailedSignIn(world, row),
    describe: ({ id }) => ({ id }),
  });
}
