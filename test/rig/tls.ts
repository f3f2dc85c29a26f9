import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface Certificate {
  key: string;
  cert: string;
}

export interface CertificateWishes {
  names?: string[];
  notBefore?: Date;
  notAfter?: Date;
}

/**
 * A self-signed certificate made at run time, so that no key lies in the repository and no expiry date breaks a build.
 * P-256 with SHA-256; the DER of RFC 5280 §4.1 is written by hand because Node can read certificates but not issue them.
 */
export function makeCertificate(wishes: CertificateWishes = {}): Certificate {
  const names = wishes.names ?? ['localhost'];
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'));
  const subject = sequence(set(sequence(oid('2.5.4.3'), tlv(0x0c, Buffer.from(names[0] ?? 'localhost')))));
  const validity = sequence(
    time(wishes.notBefore ?? new Date(Date.now() - 86_400_000)),
    time(wishes.notAfter ?? new Date(Date.now() + 86_400_000)),
  );
  const alternativeNames = sequence(...names.map((name) => tlv(0x82, Buffer.from(name))));
  const extensions = sequence(
    sequence(oid('2.5.29.17'), tlv(0x04, alternativeNames)),
    sequence(oid('2.5.29.19'), tlv(0x01, Buffer.from([0xff])), tlv(0x04, sequence(tlv(0x01, Buffer.from([0xff]))))),
  );
  const toBeSigned = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    subject,
    validity,
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, extensions),
  );
  const signature = sign('sha256', toBeSigned, { key: privateKey, dsaEncoding: 'der' });
  const der = sequence(toBeSigned, algorithm, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${(der.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}

/** Out of date, and for another name: what a careless mail server presents. */
export function makeBadCertificate(): Certificate {
  return makeCertificate({
    names: ['expired.invalid'],
    notBefore: new Date('2001-01-01T00:00:00Z'),
    notAfter: new Date('2002-01-01T00:00:00Z'),
  });
}

function tlv(tag: number, content: Buffer): Buffer {
  const length = content.length;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  if (length < 256) return Buffer.concat([Buffer.from([tag, 0x81, length]), content]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts));
}

function set(...parts: Buffer[]): Buffer {
  return tlv(0x31, Buffer.concat(parts));
}

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

/** UTCTime reaches until 2049, far enough for certificates that live for a test run (RFC 5280 §4.1.2.5.1). */
function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return tlv(0x17, Buffer.from(`${digits}Z`));
}
