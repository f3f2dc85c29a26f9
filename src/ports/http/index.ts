/**
 * The HTTP port: fastify with the contract's operations. It checks a request in the documented order, turns it into one
 * verb call and the result or refusal into a response. It holds no rule of its own beyond the conventions of all
 * routes.
 */
export { createAuthenticators, type Authenticator } from './authenticators.ts';
export { startMetricsPort } from './metrics.ts';
export { startHttp, type HttpParts, type HttpPort } from './server.ts';
export { createUnknownProxy, type UnknownProxy } from './client-address.ts';
