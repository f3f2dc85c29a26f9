// The only door to DNS. Every look-up answers with a tagged union: found, none (the name or the record does not exist)
// or failed (no server could say); it never throws for what a name server does. Answers are kept for a short while in
// bounded memory and identical look-ups under way are shared. It never connects to what it finds, except that an inspection
// asks the name servers of a zone themselves, as far as the address guard lets it.
export {
  createResolver,
  type LookupOptions,
  type Resolver,
  type ResolverOptions,
  type Addresses,
  type CaaRecord,
  type Lookup,
  type MxRecord,
  type SoaRecord,
  findReverseDns,
  isSameAddress,
  type ReverseDns,
  systemServers,
} from './resolver.ts';
export { createInspector, type Inspection, type Inspector, type InspectorOptions } from './inspector.ts';
