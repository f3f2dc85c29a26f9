import { isoTime } from './platform/clock.ts';
import { readCopyMark, removeCopyMark } from './platform/installation-mark/index.ts';
import { nodeIdOf } from './platform/process-mark/index.ts';
import type { Store } from './platform/store.ts';
import {
  removeAllAccountRequests,
  expireAllApprovals,
  removeAllDeviceLogins,
  removeAllOpenInvitations,
  endAllTokens,
  endAllChallenges,
} from './features/identity/index.ts';
import { holdRestored } from './features/campaigns/index.ts';
import { forgetWaitingNotices } from './features/installation/index.ts';
import { isAway, settleHere, switchOffRestored } from './tenancy/instance/index.ts';
import { endAllSessions } from './tenancy/session-rows/index.ts';

/**
 * Asked once before anything is sent. A copy that was restored has waiting what the original has sent since, or will send: all
 * sending is switched off, and each broadcast that is scheduled or under way is held, until an operator confirms that the original
 * sends no more. No person is signed in there, no app is let in, and no link of a mail about an account or of an invitation works. Answers whether this is
 * a copy that was not recognised before.
 */
export async function recogniseCopy(store: Store): Promise<boolean> {
  const { clock, dataDir, db, log } = store;
  const madeAt = readCopyMark(dataDir);
  const nodeId = nodeIdOf(dataDir);
  const isCopy = madeAt !== undefined || (await isAway(store, nodeId));
  const at = clock.now();
  const broadcasts = await db.tx(async (tx) => {
    await settleHere(tx, { nodeId, at });
    if (!isCopy) return 0;
    await switchOffRestored(tx, { madeAt, at });
    // One that has ended since the copy was made would live again.
    await endAllSessions(tx);
    await removeAllDeviceLogins(tx);
    await endAllTokens(tx);
    await expireAllApprovals(tx);
    // So would a link to a new password, and a mail about it would be sent twice.
    await removeAllAccountRequests(tx);
    await endAllChallenges(tx);
    // One that was withdrawn, or accepted by a person who was removed since, would let its person in.
    await removeAllOpenInvitations(tx);
    // What is wrong on the machine of the original is not so here, and the original tells of it.
    await forgetWaitingNotices(tx);
    return holdRestored(tx, at);
  });
  if (!isCopy) return false;
  // Behind the commit: a crash in between is a copy that is recognised once more.
  removeCopyMark(dataDir);
  log.warn(
    { broadcasts, madeAt: madeAt ?? null, at: isoTime(at) },
    'this installation is a restored copy and sends nothing; once the original sends no more, confirm it with: rasket sending on',
  );
  return true;
}
