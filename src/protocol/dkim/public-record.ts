import type { KeyObject } from 'node:crypto';

/** The text of the TXT record at `<selector>._domainkey.<domain>` (RFC 6376 §3.6.1, RFC 8463 §4). */
export function dkimPublicRecord(publicKey: KeyObject): string {
  const type = publicKey.asymmetricKeyType;
  if (type === 'rsa')
    return `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`;
  if (type === 'ed25519') {
    // The bare 32 bytes, where RSA publishes the whole SubjectPublicKeyInfo.
    const { x } = publicKey.export({ format: 'jwk' });
    return `v=DKIM1; k=ed25519; p=${Buffer.from(x ?? '', 'base64url').toString('base64')}`;
  }
  throw new Error(`a DKIM key is RSA or Ed25519, not ${type}`);
}
