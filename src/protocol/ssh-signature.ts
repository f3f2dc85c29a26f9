import { createHash, createPublicKey, timingSafeEqual, verify } from 'node:crypto';

/**
 * Signatures of OpenSSH over files (PROTOCOL.sshsig), as `ssh-keygen -Y sign` makes them, of Ed25519 keys. Verified here
 * so that a machine without OpenSSH can do it, too.
 */
export type SshVerification = { isGood: true; fingerprint: string } | { isGood: false; fault: string };

export interface SignedFile {
  content: Uint8Array;
  /** The armored text of the `.sig` file. */
  signature: string;
  /** One line of a `.pub` file. */
  publicKey: string;
  /** What the signature was made for, so that one for another purpose is not accepted. */
  namespace: string;
}

const KEY_TYPE = 'ssh-ed25519';
const MAGIC = Buffer.from('SSHSIG');
const HASHES: ReadonlySet<string> = new Set(['sha256', 'sha512']);
/** The beginning of every Ed25519 key in SubjectPublicKeyInfo (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const KEY_BYTES = 32;

export function verifySshSignature({ content, signature, publicKey, namespace }: SignedFile): SshVerification {
  const bad = (fault: string): SshVerification => ({ isGood: false, fault });
  const key = readPublicKey(publicKey);
  if (key === undefined) return bad(`the public key is not of the form "${KEY_TYPE} AAAA…"`);
  const parts = readSignature(signature);
  if (parts === undefined) return bad('the signature is not one of ssh-keygen -Y sign');
  if (parts.key.length !== key.blob.length || !timingSafeEqual(parts.key, key.blob))
    return bad(`it is signed with another key than ${key.fingerprint}`);
  if (parts.namespace !== namespace) return bad(`the signature is for "${parts.namespace}", not for "${namespace}"`);
  if (!HASHES.has(parts.hash)) return bad(`the signature uses the unknown hash "${parts.hash}"`);
  const hashed = createHash(parts.hash).update(content).digest();
  const signed = Buffer.concat([
    MAGIC,
    ...[Buffer.from(namespace), parts.reserved, Buffer.from(parts.hash), hashed].map(withLength),
  ]);
  const spki = createPublicKey({ key: Buffer.concat([SPKI, key.raw]), format: 'der', type: 'spki' });
  return verify(null, signed, spki, parts.signature)
    ? { isGood: true, fingerprint: key.fingerprint }
    : bad('the content was changed after it was signed');
}

function readPublicKey(line: string): { blob: Buffer; raw: Buffer; fingerprint: string } | undefined {
  const [type, text = ''] = line.trim().split(/\s+/);
  const blob = Buffer.from(text, 'base64');
  const [name, raw, ...more] = readStrings(blob) ?? [];
  if (type !== KEY_TYPE || name?.toString() !== KEY_TYPE || raw?.length !== KEY_BYTES || more.length > 0)
    return undefined;
  const digest = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '');
  return { blob, raw, fingerprint: `SHA256:${digest}` };
}

function readSignature(armored: string) {
  const text = /-----BEGIN SSH SIGNATURE-----([\s\w+/=]+)-----END SSH SIGNATURE-----/.exec(armored)?.[1];
  const blob = Buffer.from(text ?? '', 'base64');
  const isOurs = blob.subarray(0, MAGIC.length).equals(MAGIC) && blob.length > 10 && blob.readUInt32BE(6) === 1;
  const [key, namespace, reserved, hash, signature] = (isOurs && readStrings(blob.subarray(10))) || [];
  const [type, bytes] = (signature && readStrings(signature)) || [];
  if (!key || !namespace || !reserved || !hash || !bytes || type?.toString() !== KEY_TYPE) return undefined;
  return { key, namespace: namespace.toString(), reserved, hash: hash.toString(), signature: bytes };
}

/** Reads strings of RFC 4251 up to the end; returns undefined if the last one is cut off. */
function readStrings(bytes: Buffer): Buffer[] | undefined {
  const strings: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    if (at + 4 > bytes.length) return undefined;
    const end = at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) return undefined;
    strings.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return strings;
}

function withLength(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
