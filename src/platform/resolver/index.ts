// The only door to DNS. Every look-up answers with a tagged union: found, none (the name or the record does not exist)
// or failed (no server could say); it never throws for what a name server does. Answers are kept for a short while in
// bounded memory and identical look-ups under way are shared. It never connects to what it finds, except that an inspection
// asks the name servers of a zone themselves, as far as the address guard lets it.
export { createResolver } from './resolver.ts';
export type { LookupOptions, Resolver, ResolverOptions } from './resolver.ts';
export type { Addresses, CaaRecord, Lookup, MxRecord, SoaRecord } from './answers.ts';
export { findReverseDns, isSameAddress, type ReverseDns } from './reverse-dns.ts';
export { systemServers } from './system-servers.ts';
export { createInspector } from './inspector.ts';
export type { Inspection, Inspector, InspectorOptions } from './inspector.ts';
