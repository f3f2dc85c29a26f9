import { sign, createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Encodes one element of DER (X.690), to the extent that certificates and their requests need it. */
function tlv(tag: number, content: Buffer): Buffer {
  const length = content.length;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  if (length < 256) return Buffer.concat([Buffer.from([tag, 0x81, length]), content]);
  if (length > 0xffff) throw new RangeError('more than 65,535 bytes in one element of DER');
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content]);
}

const sequence = (...parts: Buffer[]): Buffer => tlv(0x30, Buffer.concat(parts));

const set = (...parts: Buffer[]): Buffer => tlv(0x31, Buffer.concat(parts));

const octets = (content: Buffer): Buffer => tlv(0x04, content);

/** Length must be a multiple of 8 bits. */
const bits = (content: Buffer): Buffer => tlv(0x03, Buffer.concat([Buffer.from([0]), content]));

const TRUE = tlv(0x01, Buffer.from([0xff]));

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

/** UTCTime until 2049, GeneralizedTime from then on (RFC 5280 §4.1.2.5). */
function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return digits < '2050' ? tlv(0x17, Buffer.from(`${digits.slice(2)}Z`)) : tlv(0x18, Buffer.from(`${digits}Z`));
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

interface Element {
  tag: number;
  content: Buffer;
  /** Offset of the next element. */
  end: number;
}

/** Reads the element that begins at `at`; undefined if there is no complete one. */
function elementAt(bytes: Buffer, at: number): Element | undefined {
  const tag = bytes[at];
  const first = bytes[at + 1];
  if (tag === undefined || first === undefined) return undefined;
  const count = first < 0x80 ? 0 : first & 0x7f;
  if (count > 4 || first === 0x80) return undefined;
  const from = at + 2 + count;
  if (from > bytes.length) return undefined;
  const length = count === 0 ? first : bytes.readUIntBE(at + 2, count);
  const end = from + length;
  return end > bytes.length ? undefined : { tag, content: bytes.subarray(from, end), end };
}

/** Lists the elements of a sequence or a set. */
function readElements(content: Buffer): Element[] {
  const all: Element[] = [];
  for (let at = 0; at < content.length;) {
    const element = elementAt(content, at);
    if (!element) return all;
    all.push(element);
    at = element.end;
  }
  return all;
}

const COMMON_NAME = '2.5.4.3';
const SUBJECT_ALT_NAME = '2.5.29.17';

/** A subject or an issuer that consists of one common name. */
const commonName = (name: string): Buffer => sequence(set(sequence(oid(COMMON_NAME), tlv(0x0c, Buffer.from(name)))));

/** The extension with the host names and addresses of a certificate (RFC 5280 §4.2.1.6). */
const alternativeNames = (names: readonly string[]): Buffer =>
  sequence(
    oid(SUBJECT_ALT_NAME),
    octets(
      sequence(
        ...names.map((name) => (isIP(name) === 0 ? tlv(0x82, Buffer.from(name)) : tlv(0x87, packAddress(name)))),
      ),
    ),
  );

const packAddress = (address: string): Buffer => Buffer.from(ipaddr.parse(address).toByteArray());

export interface CertificateWishes {
  /** Host names and addresses; the first is also the subject. */
  names: readonly string[];
  notBefore: Date;
  notAfter: Date;
  /** Up to 19 random bytes, unique among the certificates of one issuer name (§4.1.2.2). */
  serial: Buffer;
  /** P-256. */
  privateKey: KeyObject;
  publicKey: KeyObject;
  /** The digest of a key authorization, which proves a name at the TLS port (RFC 8737 §3). */
  acmeIdentifier?: Buffer;
}

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const BASIC_CONSTRAINTS = '2.5.29.19';
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31';
/** RFC 5280 §A.1: longer names are only among the alternative names. */
const COMMON_NAME_MAX = 64;

/** Creates a self-signed certificate in PEM. A client can trust it as its own authority. */
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
    // The first byte keeps the number positive.
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

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

export interface RequestWishes {
  /** Host names; none of them becomes the subject, which certificates do not need today. */
  names: readonly string[];
  /** P-256. */
  privateKey: KeyObject;
}

/** Creates a certificate request (PKCS #10, RFC 2986) in DER. */
export function certificateRequest({ names, privateKey }: RequestWishes): Buffer {
  const info = sequence(
    tlv(0x02, Buffer.from([0])),
    sequence(),
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    tlv(0xa0, sequence(oid(EXTENSION_REQUEST), set(sequence(alternativeNames(names))))),
  );
  const signature = sign('sha256', info, { key: privateKey, dsaEncoding: 'der' });
  return sequence(info, sequence(oid(ECDSA_WITH_SHA256)), bits(signature));
}

const AUTHORITY_KEY_IDENTIFIER = oid('2.5.29.35').subarray(2);

export interface CertificateMarks {
  /** The encoded serial number, including the zero in front of a first byte above 127. */
  serial: Buffer;
  authorityKeyIdentifier: Buffer | undefined;
}

/** Reads fields of a certificate that Node does not expose. */
export function readMarks(certificate: X509Certificate): CertificateMarks | undefined {
  const whole = elementAt(certificate.raw, 0);
  const toBeSigned = whole && elementAt(whole.content, 0);
  const parts = toBeSigned ? readElements(toBeSigned.content) : [];
  const serial = parts.find(({ tag }) => tag === 0x02)?.content;
  if (!serial) return undefined;
  const extensions = elementAt(parts.find(({ tag }) => tag === 0xa3)?.content ?? Buffer.alloc(0), 0);
  for (const extension of readElements(extensions?.content ?? Buffer.alloc(0))) {
    const fields = readElements(extension.content);
    if (!fields[0]?.content.equals(AUTHORITY_KEY_IDENTIFIER)) continue;
    const value = elementAt(fields.at(-1)?.content ?? Buffer.alloc(0), 0);
    const keyIdentifier = readElements(value?.content ?? Buffer.alloc(0)).find(({ tag }) => tag === 0x80);
    return { serial, authorityKeyIdentifier: keyIdentifier?.content };
  }
  return { serial, authorityKeyIdentifier: undefined };
}
