/**
 * HTTP to addresses that somebody else chose: https (http if the caller of `send` allows it), to public addresses and
 * those that the operator allows, checked again at each redirect, over a connection to the very address that was
 * checked. Fetches share no state except the open connections of a pool, only `send` sends a credential, and nothing
 * throws because of what the other side does.
 */
export {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  type FetchFailure,
  type Send,
  type SendAnswer,
} from './guarded-fetch.ts';
export type {
  FetchAnswer,
  FetchFault,
  FetchLimits,
  Post,
  PostAnswer,
  PostFault,
  Posted,
  PostPool,
} from './guarded-connector.ts';
