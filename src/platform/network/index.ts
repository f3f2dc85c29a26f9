/**
 * Which addresses we may connect to when somebody else chose them: the one table of ranges, for mail and for HTTP. It
 * looks nothing up and connects to nothing.
 */
export { createAddressGuard, type AddressGuard } from './address-guard.ts';
export { createOwnConnections, type AcceptedConnection, type OwnConnections } from './own-connections.ts';
export { isLocalHost } from './local-host.ts';
export { clientKey } from './client-key.ts';
export { createRangeCheck, plainAddress } from './range-check.ts';
