/**
 * Approvals: calls of apps that a person decides on first. A call is held as it came, once; an approval makes it, once,
 * with the rights of the app. What a call only names is looked at again, so that people approve only the content they saw.
 */

export {
  removeOldApprovals,
  expireAllApprovals,
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
