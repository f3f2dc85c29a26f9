/**
 * HTTP to addresses that somebody else chose: https (http where the caller of `send` allows it), to public addresses and what the operator allows, checked again
 * at each redirect, over a connection to the very address that was checked. Nothing is remembered from one fetch to the
 * next but the open connections of a pool, no credential is sent but by `send`, and it never throws for what the other side does.
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
