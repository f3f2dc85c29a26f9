/**
 * Matches the certificates of a mail server with its TLSA records (RFC 6698, RFC 7671), as RFC 7672 requires for SMTP.
 * Name constraints and path lengths of intermediate certificates are not checked.
 */
import { createHash, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto';
import type { TlsaRecord } from './dns/index.ts';

const USAGES = { trustAnchor: 2, endEntity: 3 } as const;
const SELECTORS = { certificate: 0, publicKey: 1 } as const;
const MATCHINGS = { full: 0, sha256: 1, sha512: 2 } as const;

/** Certificates after these are ignored: no legitimate chain is as long, and checking signatures takes time. */
const CERTIFICATES_MAX = 10;

/**
 * Returns the records that SMTP clients use: a host with other records only must still support TLS. PKIX-TA(0) and
 * PKIX-EE(1) need a set of authorities that both sides trust, which mail servers do not have (RFC 7672 §3.1.3).
 */
export const usableTlsa = (records: readonly TlsaRecord[]): TlsaRecord[] => records.filter(isUsable);

function isUsable({ usage, selector, matching, association }: TlsaRecord): boolean {
  if (usage !== USAGES.trustAnchor && usage !== USAGES.endEntity) return false;
  if (selector !== SELECTORS.certificate && selector !== SELECTORS.publicKey) return false;
  switch (matching) {
    case MATCHINGS.full:
      return (selector === SELECTORS.certificate ? readCertificate(association) : readKey(association)) !== undefined;
    case MATCHINGS.sha256:
      return association.length === 32;
    case MATCHINGS.sha512:
      return association.length === 64;
    default:
      return false;
  }
}

export interface PeerCertificates {
  /** As the server sent them, its own first; those of authorities in any order. */
  chain: readonly X509Certificate[];
  records: readonly TlsaRecord[];
  /**
   * The names that the server may have: the one at which the records were found, and the domain of the recipient. They
   * matter to DANE-TA(2) only.
   */
  names: readonly string[];
  now: number;
}

export type DaneResult = { kind: 'match'; usage: 2 | 3 } | { kind: 'mismatch'; detail: string };

/**
 * Verifies the certificates that a server has presented. A record of DANE-EE(3) identifies the server's certificate by
 * itself, whatever its names and dates (RFC 7672 §3.1.1). A record of DANE-TA(2) identifies an authority that must have
 * issued a valid certificate for one of the names (§3.1.2).
 */
export function verifyDane({ chain, records, names, now }: PeerCertificates): DaneResult {
  const [leaf, ...others] = chain.slice(0, CERTIFICATES_MAX);
  if (!leaf) return mismatch('the server presented no certificate');
  const usable = strongest(usableTlsa(records));
  const endEntities = usable.filter(({ usage }) => usage === USAGES.endEntity);
  if (endEntities.some((record) => matches(record, leaf))) return { kind: 'match', usage: USAGES.endEntity };
  const anchors = usable.filter(({ usage }) => usage === USAGES.trustAnchor);
  if (anchors.length === 0) return mismatch("no TLSA record matches the server's certificate");
  if (!isIssuedByAnchor(leaf, others, anchors, now)) {
    const dates = isInTime(leaf, now) ? '' : `; the server's certificate is valid from ${formatDates(leaf)}`;
    return mismatch(`no TLSA record matches a valid chain of certificates${dates}`);
  }
  if (!names.some((name) => isFor(leaf, name))) {
    return mismatch(`the server's certificate is not for ${names.join(' or ')}`);
  }
  return { kind: 'match', usage: USAGES.trustAnchor };
}

const mismatch = (detail: string): DaneResult => ({ kind: 'mismatch', detail });

/**
 * RFC 7671 §9: of the digests of one usage and selector, only those of the strongest algorithm count, so that an
 * algorithm that has been broken can be replaced.
 */
function strongest(records: readonly TlsaRecord[]): TlsaRecord[] {
  const hasSha512 = (record: TlsaRecord): boolean =>
    records.some(
      ({ usage, selector, matching }) =>
        matching === MATCHINGS.sha512 && usage === record.usage && selector === record.selector,
    );
  return records.filter((record) => record.matching !== MATCHINGS.sha256 || !hasSha512(record));
}

function matches({ selector, matching, association }: TlsaRecord, certificate: X509Certificate): boolean {
  const selected = selector === SELECTORS.certificate ? certificate.raw : publicKeyBytes(certificate);
  if (!selected) return false;
  switch (matching) {
    case MATCHINGS.full:
      return association.equals(selected);
    case MATCHINGS.sha256:
      return association.equals(createHash('sha256').update(selected).digest());
    case MATCHINGS.sha512:
      return association.equals(createHash('sha512').update(selected).digest());
    default:
      return false;
  }
}

/**
 * Follows the issuers from the server's certificate upwards until one matches a record. Each certificate is visited
 * once, so that the work is bounded whatever the server sends.
 */
function isIssuedByAnchor(
  leaf: X509Certificate,
  others: readonly X509Certificate[],
  anchors: readonly TlsaRecord[],
  now: number,
): boolean {
  const isAnchor = (certificate: X509Certificate): boolean => anchors.some((record) => matches(record, certificate));
  // The server need not send an authority that a record contains in full.
  const full = anchors.filter(({ matching }) => matching === MATCHINGS.full).slice(0, CERTIFICATES_MAX);
  const published = full.flatMap(({ selector, association }) =>
    selector === SELECTORS.certificate ? (readCertificate(association) ?? []) : [],
  );
  const keys = full.flatMap(({ selector, association }) =>
    selector === SELECTORS.publicKey ? (readKey(association) ?? []) : [],
  );
  if (!isInTime(leaf, now)) return false;
  const remaining = new Set([...others, ...published]);
  const reached = [leaf];
  for (const certificate of reached) {
    if (keys.some((key) => isSignedBy(certificate, key))) return true;
    for (const issuer of remaining) {
      if (!isInTime(issuer, now) || !isIssuedBy(certificate, issuer)) continue;
      if (isAnchor(issuer)) return true;
      remaining.delete(issuer);
      // Without this check, whoever has a certificate of the authority could issue more of them.
      if (issuer.ca) reached.push(issuer);
    }
  }
  return false;
}

/** Certificates come from the other side, and OpenSSL throws on keys that it does not know. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const readCertificate = (der: Buffer): X509Certificate | undefined =>
  attempt(() => {
    const certificate = new X509Certificate(der);
    // The constructor also accepts PEM, and bytes after the certificate.
    return certificate.raw.equals(der) ? certificate : undefined;
  });

const readKey = (der: Buffer): KeyObject | undefined =>
  attempt(() => createPublicKey({ key: der, format: 'der', type: 'spki' }));

const publicKeyBytes = (certificate: X509Certificate): Buffer | undefined =>
  attempt(() => certificate.publicKey.export({ type: 'spki', format: 'der' }));

const isSignedBy = (certificate: X509Certificate, key: KeyObject): boolean =>
  attempt(() => certificate.verify(key)) ?? false;

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  attempt(() => certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)) ?? false;

const isInTime = (certificate: X509Certificate, now: number): boolean =>
  certificate.validFromDate.getTime() <= now && now <= certificate.validToDate.getTime();

const formatDates = ({ validFromDate, validToDate }: X509Certificate): string =>
  `${validFromDate.toISOString()} to ${validToDate.toISOString()}`;

/** A wildcard stands for one whole label (RFC 6125 §6.4.3). */
const isFor = (certificate: X509Certificate, name: string): boolean =>
  /^[^.]/.test(name) &&
  attempt(() => certificate.checkHost(name.replace(/\.$/, ''), { partialWildcards: false })) !== undefined;
