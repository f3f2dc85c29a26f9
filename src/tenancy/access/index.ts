/**
 * The identity of the caller, as data, and its permissions: one permission path for every port, regardless of how the
 * caller authenticated. `lockTeam` is the one lock under which a team's limits are kept.
 */
export {
  type Permission,
  type Actor,
  type Identity,
  type Browser,
  type UserCtx,
  type NobodyCtx,
  type OperatorCtx,
  type Ctx,
  type CtxFor,
  callerGone,
  readKeyId,
  readPinnedDomain,
  readAppName,
  readGrantId,
  readApproved,
  type Approved,
  authorize,
  authorizeFields,
  mustMayAlter,
} from './access.ts';
export {
  findRefusal,
  isBatch,
  readBatch,
  refuseAtIndex,
  refuseBatch,
  toBatchError,
  type BodyCheck,
  type RefusedItem,
} from './batch.ts';
export { asksForWriter, computeEffect, computeLeastEffect } from './effect.ts';
export {
  countsAsRecipient,
  decideAdmission,
  beyond,
  APPROVAL_ABOVE,
  BeyondUnapproved,
  NO_LIMITS,
  type GrantLimits,
} from './grant-limits.ts';
export { mustBeUnchanged, nextChangeAt } from './unchanged-draft.ts';
export { lockTeam } from './team-lock.store.ts';
export { Answered, readPage, type AllOperations, type OperationResult, type OperationTable } from './operation.ts';
