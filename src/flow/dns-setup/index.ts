/**
 * Publishing the records of domains through DNS providers: it compares a zone with what a domain wants, shows the change,
 * and makes it. It touches only records that it published itself and remembers, binds each update to what it has read
 * where the provider can, and never stores a credential that a caller brought.
 */
export { configureDomainDns, type ConfigureInput } from './configure-domain-dns.ts';
export { publishConfigured } from './publish-configured.ts';
