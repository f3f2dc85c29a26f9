import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { selfSignedCertificate } from '../x509.ts';
import { thumbprint } from './jws.ts';

/** RFC 8555 §8.1: what shows that the server of a name belongs to the account. */
export const keyAuthorization = (token: string, accountKey: KeyObject): string => `${token}.${thumbprint(accountKey)}`;

/** RFC 8737: what the validator of `tls-alpn-01` says that it speaks. */
export const ACME_TLS = 'acme-tls/1';

const DAY_MS = 86_400_000;

interface ProofWishes {
  name: string;
  /** The key authorization. */
  authorization: string;
  now: number;
  /** Up to 19 bytes that no other certificate has. */
  serial: Buffer;
}

/** The certificate that answers `tls-alpn-01` for a name (RFC 8737 §3); in PEM, with its key. */
export function alpnCertificate({ name, authorization, now, serial }: ProofWishes): { cert: string; key: string } {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const cert = selfSignedCertificate({
    names: [name],
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + DAY_MS),
    serial,
    acmeIdentifier: createHash('sha256').update(authorization).digest(),
    ...keys,
  });
  return { cert, key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** What a TLS client says first, as far as it decides which certificate it is shown. */
export interface ClientHello {
  serverName: string | undefined;
  protocols: string[];
}

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const ALPN = 16;

/** `undefined` while more bytes are needed; null where they are no ClientHello that is in one record. */
export function readClientHello(bytes: Buffer): ClientHello | null | undefined {
  if (bytes.length > 0 && bytes[0] !== HANDSHAKE) return null;
  if (bytes.length < 5) return undefined;
  const end = 5 + bytes.readUInt16BE(3);
  if (bytes.length < end) return undefined;
  try {
    return readBody(bytes.subarray(5, end));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function readBody(body: Buffer): ClientHello | null {
  if (body[0] !== CLIENT_HELLO) return null;
  // Version and random are 34 bytes behind the type and three of length.
  let at = 4 + 34;
  at += 1 + body.readUInt8(at);
  at += 2 + body.readUInt16BE(at);
  at += 1 + body.readUInt8(at);
  const hello: ClientHello = { serverName: undefined, protocols: [] };
  if (at >= body.length) return hello;
  const end = at + 2 + body.readUInt16BE(at);
  if (end > body.length) return null;
  at += 2;
  while (at + 4 <= end) {
    const type = body.readUInt16BE(at);
    const length = body.readUInt16BE(at + 2);
    const content = body.subarray(at + 4, at + 4 + length);
    if (content.length !== length) return null;
    if (type === SERVER_NAME) hello.serverName = nameIn(content);
    if (type === ALPN) hello.protocols = protocolsIn(content);
    at += 4 + length;
  }
  return hello;
}

/** RFC 6066 §3: one host name, behind its type and two lengths. */
const nameIn = (content: Buffer): string | undefined =>
  content.readUInt8(2) === 0 ? content.toString('latin1', 5, 5 + content.readUInt16BE(3)).toLowerCase() : undefined;

function protocolsIn(content: Buffer): string[] {
  const all: string[] = [];
  for (let at = 2; at < content.length; at += 1 + content.readUInt8(at))
    all.push(content.toString('latin1', at + 1, at + 1 + content.readUInt8(at)));
  return all;
}
