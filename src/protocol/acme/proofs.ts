import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { selfSignedCertificate } from '../x509.ts';
import { thumbprint } from './jws.ts';

/** RFC 8555 §8.1: proves that the server for a name belongs to the account. */
export const keyAuthorization = (token: string, accountKey: KeyObject): string => `${token}.${thumbprint(accountKey)}`;

/** RFC 8737: the ALPN protocol that the validator of `tls-alpn-01` offers. */
export const ACME_TLS = 'acme-tls/1';

const DAY_MS = 86_400_000;

interface ProofWishes {
  name: string;
  /** The key authorization. */
  authorization: string;
  now: number;
  /** Up to 19 bytes, unique to this certificate. */
  serial: Buffer;
}

/** Creates the certificate that `tls-alpn-01` validation of a name expects (RFC 8737 §3), and its key, both in PEM. */
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

/** The fields of a TLS ClientHello that decide which certificate to present. */
export interface ClientHello {
  serverName: string | undefined;
  protocols: string[];
}

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const ALPN = 16;

/** Returns undefined while more bytes are needed, and null if the bytes are not a ClientHello within one record. */
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
  // Skip the type and three bytes of length, then 34 bytes of version and random.
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

/** RFC 6066 §3: one host name, after its type and two lengths. */
const nameIn = (content: Buffer): string | undefined =>
  content.readUInt8(2) === 0 ? content.toString('latin1', 5, 5 + content.readUInt16BE(3)).toLowerCase() : undefined;

function protocolsIn(content: Buffer): string[] {
  const all: string[] = [];
  for (let at = 2; at < content.length; at += 1 + content.readUInt8(at))
    all.push(content.toString('latin1', at + 1, at + 1 + content.readUInt8(at)));
  return all;
}
