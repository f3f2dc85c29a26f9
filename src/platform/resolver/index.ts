// The only access to DNS. Every look-up returns a tagged union: found, none (the name or the record does not exist) or
// failed (no server could say); it never throws because of what a name server does. Answers are cached for a short
// while in bounded memory, and identical concurrent look-ups are shared. It never connects to what it finds, except
// that an inspection queries the name servers of a zone directly, as far as the address guard permits it.
export {
  createResolver,
  type LookupOptions,
  type Resolver,
  type ResolverOptions,
  type Addresses,
  type CaaRecord,
  type Lookup,
  type LookupFailure,
  type MxRecord,
  type SoaRecord,
  findReverseDns,
  isSameAddress,
  type ReverseDns,
  systemServers,
} from './resolver.ts';
export { createInspector, type Inspection, type Inspector, type InspectorOptions } from './inspector.ts';
export {
  createSecureResolver,
  type SecureLookup,
  type SecureLookUps,
  type SecureResolver,
  type SecureResolverOptions,
  type SelfTestResult,
} from './secure-resolver.ts';
export { findTlsa, type HostDane } from './find-tlsa.ts';
