/**
 * Decides to which addresses we may connect if somebody else chose them: the one table of ranges, for mail and for
 * HTTP. It looks nothing up and connects to nothing.
 */
export {
  createAddressGuard,
  type AddressGuard,
  isLocalHost,
  clientKey,
  createRangeCheck,
  plainAddress,
} from './address-guard.ts';
export { createOwnConnections, type AcceptedConnection, type OwnConnections } from './own-connections.ts';
