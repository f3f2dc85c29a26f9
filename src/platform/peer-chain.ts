import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

/** More than any legitimate chain has. */
const CERTIFICATES_MAX = 10;

/**
 * Returns the certificates that the other side sent, in the order in which it sent them, its own first. A self-signed
 * one ends the list. It is empty if a TLS session was resumed.
 */
export function readPeerChain(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  while (next && chain.length < CERTIFICATES_MAX) {
    chain.push(next);
    next = next.issuerCertificate;
  }
  return chain;
}
