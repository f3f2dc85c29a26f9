import { X509Certificate, type KeyObject } from 'node:crypto';
import { AcmeFault } from './fault.ts';

export interface Chain {
  /** PEM, ours first, in the form we write it ourselves. */
  pem: string;
  leaf: X509Certificate;
  startsAt: number;
  endsAt: number;
}

export interface ChainWishes {
  names: readonly string[];
  privateKey: KeyObject;
  now: number;
}

const CERTIFICATES_MAX = 10;
const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\r\n]+-----END CERTIFICATE-----/g;
/** Clocks of authorities may be ahead of ours. */
const AHEAD_MS = 3_600_000;

/** What was downloaded, if it is what was asked for: a chain for these names, with our key, and in force. */
export function readChain(text: string, { names, privateKey, now }: ChainWishes): Chain {
  // RFC 8555 §9.1 leaves nothing else in the file: text between would be taken for comments by one reader, not by another.
  if (text.replaceAll(BLOCK, '').trim() !== '') throw wrong('holds more than certificates in PEM');
  const all = (text.match(BLOCK) ?? []).map(parse);
  const [leaf] = all;
  if (!leaf) throw wrong('holds no certificate in PEM');
  if (all.length > CERTIFICATES_MAX) throw wrong(`has ${all.length} certificates, more than ${CERTIFICATES_MAX}`);
  if (!leaf.checkPrivateKey(privateKey)) throw wrong('is for another key than ours');
  const missing = names.find((name) => leaf.checkHost(name, { wildcards: false, subject: 'never' }) === undefined);
  if (missing !== undefined) throw wrong(`is not for ${missing}`);
  const [startsAt, endsAt] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  if (endsAt <= now) throw wrong(`ended at ${new Date(endsAt).toISOString()}, before it came`);
  if (startsAt > now + AHEAD_MS) throw wrong(`begins at ${new Date(startsAt).toISOString()}; look at the clock`);
  all.slice(1).forEach((issuer, index) => {
    const signed = all[index] as X509Certificate;
    if (!signed.checkIssued(issuer) || !signed.verify(issuer.publicKey))
      throw wrong(`does not hold together: number ${index + 2} did not sign number ${index + 1}`);
  });
  return { pem: all.map(String).join(''), leaf, startsAt, endsAt };
}

function parse(block: string): X509Certificate {
  try {
    return new X509Certificate(block);
  } catch {
    throw wrong('holds a certificate that cannot be read');
  }
}

const wrong = (says: string): AcmeFault => new AcmeFault(`the certificate that was issued ${says}; it is not used`);
