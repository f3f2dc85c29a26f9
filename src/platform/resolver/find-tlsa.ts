import { usableTlsa } from '../../protocol/dane.ts';
import type { TlsaRecord } from '../../protocol/dns/index.ts';
import { canonical, type LookupFailure } from './resolver.ts';
import type { SecureLookUps } from './secure-resolver.ts';

export type HostDane =
  /** DANE does not apply: the host's addresses are insecure, or it has no TLSA records that are secure. */
  | { kind: 'none' }
  /** TLS is required, and the certificate has to match. `base` is the server name of the TLS handshake. */
  | { kind: 'records'; base: string; records: TlsaRecord[] }
  /** TLS is required. The certificate is not checked, because no record can be used. */
  | { kind: 'unusable'; base: string }
  /** No mail may be delivered to this host now: it is not known whether DANE applies. */
  | { kind: 'failed'; detail: string };

/**
 * Finds out what DANE requires of a mail server that has been found securely (RFC 7672 §2.2.2, §2.2.3). `host` is the
 * name in the MX record, or the domain itself if it has none.
 */
export async function findTlsa(resolver: SecureLookUps, host: string, port = 25): Promise<HostDane> {
  const bases = await findBases(resolver, canonical(host));
  if (bases.kind !== 'bases') return bases;
  for (const base of bases.names) {
    const name = `_${port}._tcp.${base}`;
    const answer = await resolver.tlsa(name);
    if (answer.kind === 'failed') return failed('TLSA records', name, answer);
    if (answer.kind === 'none' || !answer.isSecure) continue;
    const records = usableTlsa(answer.records);
    return records.length > 0 ? { kind: 'records', base, records } : { kind: 'unusable', base };
  }
  return { kind: 'none' };
}

type Bases = { kind: 'bases'; names: string[] } | { kind: 'none' } | { kind: 'failed'; detail: string };

/**
 * Returns the names at which TLSA records may be, in this order. They are looked up only for a host in a signed zone:
 * some servers of unsigned zones do not answer such questions at all, which would stop their mail.
 */
async function findBases(resolver: SecureLookUps, host: string): Promise<Bases> {
  const addresses = await resolver.addresses(host);
  if (addresses.kind === 'failed') return failed('addresses', host, addresses);
  // Other resolvers may find an address, but not a genuine one.
  if (addresses.kind === 'none' && addresses.isSecure) return { kind: 'failed', detail: `${host} has no address` };
  const expanded = addresses.canonicalName;
  if (addresses.isSecure) return { kind: 'bases', names: expanded === host ? [host] : [expanded, host] };
  if (expanded === host) return { kind: 'none' };
  // An alias in a signed zone may lead to an unsigned one.
  const alias = await resolver.cname(host);
  if (alias.kind === 'failed') return failed('alias', host, alias);
  return alias.kind === 'found' && alias.isSecure ? { kind: 'bases', names: [host] } : { kind: 'none' };
}

const failed = (what: string, name: string, { reason }: LookupFailure): { kind: 'failed'; detail: string } => ({
  kind: 'failed',
  detail: `the ${what} of ${name} could not be looked up: ${reason}`,
});
