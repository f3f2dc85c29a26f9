import type { X509Certificate } from 'node:crypto';
import { elementAt, elementsOf, oid } from './der.ts';

const AUTHORITY_KEY_IDENTIFIER = oid('2.5.29.35').subarray(2);

export interface CertificateMarks {
  /** The serial number as it is written, a zero in front of a first byte above 127 included. */
  serial: Buffer;
  authorityKeyIdentifier: Buffer | undefined;
}

/** What Node does not tell of a certificate. */
export function readMarks(certificate: X509Certificate): CertificateMarks | undefined {
  const whole = elementAt(certificate.raw, 0);
  const toBeSigned = whole && elementAt(whole.content, 0);
  const parts = toBeSigned ? elementsOf(toBeSigned.content) : [];
  const serial = parts.find(({ tag }) => tag === 0x02)?.content;
  if (!serial) return undefined;
  const extensions = elementAt(parts.find(({ tag }) => tag === 0xa3)?.content ?? Buffer.alloc(0), 0);
  for (const extension of elementsOf(extensions?.content ?? Buffer.alloc(0))) {
    const fields = elementsOf(extension.content);
    if (!fields[0]?.content.equals(AUTHORITY_KEY_IDENTIFIER)) continue;
    const value = elementAt(fields.at(-1)?.content ?? Buffer.alloc(0), 0);
    const keyIdentifier = elementsOf(value?.content ?? Buffer.alloc(0)).find(({ tag }) => tag === 0x80);
    return { serial, authorityKeyIdentifier: keyIdentifier?.content };
  }
  return { serial, authorityKeyIdentifier: undefined };
}
