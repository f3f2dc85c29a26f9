/**
 * Approvals: calls of apps that a person decides on first. A call is held as it came, once; an approval makes it, once,
 * with the rights of the app. What a call only names is looked at again, so that people approve only the content they saw.
 */
import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import { expireAll, removeApprovalsBefore } from './approvals.store.ts';

export {
  approveCall,
  rejectCall,
  type Fill,
  type Maker,
  mustLeaveWhatWaits,
  proposeCall,
  getApproval,
  listApprovals,
} from './approvals.ts';
export {
  isOwnWork,
  ANY_CONTACTS,
  BROADCAST_TEXTS,
  FILTERED,
  type Content,
  type Look,
  type Looked,
  type FilledCall,
  type HeldFile,
  type ProposedCall,
} from './proposed-call.ts';

const KEPT_MS = 90 * 24 * 3_600_000;

export const removeOldApprovals = ({ db, clock }: Store): Promise<number> =>
  removeApprovalsBefore(db, clock.now() - KEPT_MS);

/** In a restored copy nothing that waited is done: the original may have done it since. */
export const expireAllApprovals = (tx: Executor): Promise<number> => expireAll(tx);
