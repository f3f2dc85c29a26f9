import { isoTime } from './platform/clock.ts';
import { readCopyMark, removeCopyMark } from './platform/installation-mark/index.ts';
import { loadNodeId } from './platform/process-mark/index.ts';
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
import { forgetAllTlsReports } from './mail/tls-reports/index.ts';
import { isAway, settleHere, switchOffRestored } from './tenancy/instance/index.ts';
import { endAllSessions } from './tenancy/session-rows/index.ts';

/**
 * Checks whether this is a restored copy, once before anything is sent. In a copy, mail is waiting that the original
 * has sent since, or will send: all sending is switched off, and each broadcast that is scheduled or in progress is put
 * on hold, until an operator confirms that the original sends no more. All sessions, app tokens and approvals end, and
 * no link of an account email or invitation works. Returns whether this is a copy that was not recognized before.
 */
export async function recogniseCopy(store: Store): Promise<boolean> {
  const { clock, dataDir, db, log } = store;
  const madeAt = readCopyMark(dataDir);
  const nodeId = loadNodeId(dataDir);
  const isCopy = madeAt !== undefined || (await isAway(store, nodeId));
  const at = clock.now();
  const broadcasts = await db.tx(async (tx) => {
    await settleHere(tx, { nodeId, at });
    if (!isCopy) return 0;
    await switchOffRestored(tx, { madeAt, at });
    // A session that has ended since the copy was made would become valid again.
    await endAllSessions(tx);
    await removeAllDeviceLogins(tx);
    await endAllTokens(tx);
    await expireAllApprovals(tx);
    // So would a password reset link, and the mail about it would be sent twice.
    await removeAllAccountRequests(tx);
    await endAllChallenges(tx);
    // An invitation that was withdrawn, or accepted by a person who was removed since, would give access again.
    await removeAllOpenInvitations(tx);
    // Problems of the original's machine do not apply here, and the original reports them.
    await forgetWaitingNotices(tx);
    // The original reports on the TLS of its connections itself.
    await forgetAllTlsReports(tx);
    return holdRestored(tx, at);
  });
  if (!isCopy) return false;
  // Runs after the commit: a crash in between means that the copy is recognized once more.
  removeCopyMark(dataDir);
  log.warn(
    { broadcasts, madeAt: madeAt ?? null, at: isoTime(at) },
    'this installation is a restored copy and sends nothing; once the original no longer sends mail, confirm it with: rasket sending on',
  );
  return true;
}
