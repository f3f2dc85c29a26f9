import { sign, type KeyObject } from 'node:crypto';

export interface CertificateWishes {
  /** Host names, the first of them also as the subject. */
  names: readonly string[];
  notBefore: Date;
  notAfter: Date;
  /** Up to 19 random bytes; no two certificates of one name have the same (§4.1.2.2). */
  serial: Buffer;
  /** P-256. */
  privateKey: KeyObject;
  publicKey: KeyObject;
}

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const COMMON_NAME = '2.5.4.3';
const SUBJECT_ALT_NAME = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
/** RFC 5280 §A.1: longer names stand among the alternative ones only. */
const COMMON_NAME_MAX = 64;

/** The certificate in PEM. Whoever trusts it trusts it as its own authority. */
export function selfSignedCertificate({ names, notBefore, notAfter, serial, ...keys }: CertificateWishes): string {
  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const commonName = (names[0] ?? 'localhost').slice(0, COMMON_NAME_MAX);
  const subject = sequence(set(sequence(oid(COMMON_NAME), tlv(0x0c, Buffer.from(commonName)))));
  const alternativeNames = sequence(...names.map((name) => tlv(0x82, Buffer.from(name))));
  const isTrue = tlv(0x01, Buffer.from([0xff]));
  const extensions = sequence(
    sequence(oid(SUBJECT_ALT_NAME), tlv(0x04, alternativeNames)),
    sequence(oid(BASIC_CONSTRAINTS), isTrue, tlv(0x04, sequence(isTrue))),
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
  const der = sequence(toBeSigned, algorithm, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function tlv(tag: number, content: Buffer): Buffer {
  const length = content.length;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  if (length < 256) return Buffer.concat([Buffer.from([tag, 0x81, length]), content]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content]);
}

const sequence = (...parts: Buffer[]): Buffer => tlv(0x30, Buffer.concat(parts));

const set = (...parts: Buffer[]): Buffer => tlv(0x31, Buffer.concat(parts));

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const septets = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      septets.unshift((left & 0x7f) | 0x80);
    bytes.push(...septets);
  }
  return tlv(0x06, Buffer.from(bytes));
}

/** UTCTime until 2049, GeneralizedTime from then on (§4.1.2.5). */
function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return digits < '2050' ? tlv(0x17, Buffer.from(`${digits.slice(2)}Z`)) : tlv(0x18, Buffer.from(`${digits}Z`));
}
