/**
 * Calls of an HTTP API that the operator chose, with a credential: https only, to addresses that the guard lets through,
 * over a connection to the very address that was checked. It follows no redirect, so that the credential goes nowhere
 * else, reads no more of an answer than it may, and never throws for what the other side does.
 */
export { createApiCall } from './api-call.ts';
export type { ApiAnswer, ApiCall, ApiCallOptions, ApiRequest } from './api-call.ts';
