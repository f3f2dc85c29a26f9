import { createPublicKey, sign, type KeyObject } from 'node:crypto';
import { bits, oid, sequence, set, tlv } from './der.ts';
import { alternativeNames } from './names.ts';
import { ECDSA_WITH_SHA256 } from './self-signed.ts';

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

export interface RequestWishes {
  /** Host names; none of them is made the subject, which certificates of today do without. */
  names: readonly string[];
  /** P-256. */
  privateKey: KeyObject;
}

/** A request for a certificate (PKCS #10, RFC 2986) in DER. */
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
