import { sign, type KeyObject } from 'node:crypto';
import { bits, oid, octets, pem, sequence, time, tlv, TRUE } from './der.ts';
import { alternativeNames, commonName } from './names.ts';

export interface CertificateWishes {
  /** Host names and addresses, the first of them also as the subject. */
  names: readonly string[];
  notBefore: Date;
  notAfter: Date;
  /** Up to 19 random bytes; no two certificates of one name have the same (§4.1.2.2). */
  serial: Buffer;
  /** P-256. */
  privateKey: KeyObject;
  publicKey: KeyObject;
  /** The digest of a key authorization, which proves a name at the TLS port (RFC 8737 §3). */
  acmeIdentifier?: Buffer;
}

export const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const BASIC_CONSTRAINTS = '2.5.29.19';
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31';
/** RFC 5280 §A.1: longer names stand among the alternative ones only. */
const COMMON_NAME_MAX = 64;

/** The certificate in PEM. A client that trusts it trusts it as its own authority. */
export function selfSignedCertificate(wishes: CertificateWishes): string {
  const { names, notBefore, notAfter, serial, acmeIdentifier, ...keys } = wishes;
  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const subject = commonName((names[0] ?? 'localhost').slice(0, COMMON_NAME_MAX));
  const extensions = sequence(
    alternativeNames(names),
    sequence(oid(BASIC_CONSTRAINTS), TRUE, octets(sequence(TRUE))),
    ...(acmeIdentifier ? [sequence(oid(ACME_IDENTIFIER), TRUE, octets(octets(acmeIdentifier)))] : []),
  );
  const toBeSigned = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    // With a first byte that makes it positive.
    tlv(0x02, Buffer.concat([Buffer.from([1]), serial])),
    algorithm,
    subject,
    sequence(time(notBefore), time(notAfter)),
    subject,
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, extensions),
  );
  const signature = sign('sha256', toBeSigned, { key: keys.privateKey, dsaEncoding: 'der' });
  return pem('CERTIFICATE', sequence(toBeSigned, algorithm, bits(signature)));
}
