import { isIPv4, isIPv6 } from 'node:net';

export type ProxyHeader =
  /** The header continues in bytes that have not arrived yet. */
  | { kind: 'more' }
  | { kind: 'bad'; fault: string }
  /** `source` is absent if the proxy connects for itself, as in its health checks, or does not know it. */
  | { kind: 'header'; length: number; source: { address: string; port: number } | undefined };

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const LINE_MAX = 107;
const FIXED_BYTES = 16;
/** Addresses take at most 36 bytes; a proxy may add information about TLS. */
const BLOCK_MAX = 4096;

/** Reads a header at the start of the bytes received so far. */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  const known = Math.min(bytes.length, SIGNATURE.length);
  if (known > 0 && bytes.subarray(0, known).equals(SIGNATURE.subarray(0, known))) return readBinary(bytes);
  return readLine(bytes);
}

/** Version 1: `PROXY TCP4 192.0.2.1 198.51.100.1 56324 25`. */
function readLine(bytes: Buffer): ProxyHeader {
  const end = bytes.indexOf('\r\n');
  const text = bytes.toString('latin1', 0, end < 0 ? LINE_MAX : Math.min(end, LINE_MAX));
  if (!'PROXY '.startsWith(text.slice(0, 6))) return bad('it does not begin with PROXY');
  if (end < 0) return bytes.length >= LINE_MAX ? bad('its line is too long') : { kind: 'more' };
  const length = end + 2;
  if (length > LINE_MAX) return bad('its line is too long');
  const [, family, address = '', target = '', port = '', targetPort = '', ...rest] = text.split(' ');
  if (family === 'UNKNOWN') return { kind: 'header', length, source: undefined };
  const isFamily = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isIPv6 : undefined;
  if (!isFamily) return bad('its family is neither TCP4 nor TCP6 nor UNKNOWN');
  const isWhole = isFamily(address) && isFamily(target) && isPort(port) && isPort(targetPort) && rest.length === 0;
  if (!isWhole || address.includes('%')) return bad('its addresses or ports are none');
  return { kind: 'header', length, source: { address: address.toLowerCase(), port: Number(port) } };
}

/**
 * Version 2: a signature, version and command, family and protocol, the length of what follows, addresses, and more.
 */
function readBinary(bytes: Buffer): ProxyHeader {
  if (bytes.length < FIXED_BYTES) return { kind: 'more' };
  const [what = 0, family = 0] = bytes.subarray(SIGNATURE.length);
  const blockBytes = bytes.readUInt16BE(14);
  if (what >> 4 !== 2) return bad('its version is not 2');
  if (blockBytes > BLOCK_MAX) return bad('it is too long');
  const length = FIXED_BYTES + blockBytes;
  if (bytes.length < length) return { kind: 'more' };
  const command = what & 0x0f;
  if (command > 1) return bad('its command is neither LOCAL nor PROXY');
  const block = bytes.subarray(FIXED_BYTES, length);
  // LOCAL: the proxy itself connects. Families other than TCP over IPv4 and IPv6 have no address that we could use.
  if (command === 0 || (family !== 0x11 && family !== 0x21)) return { kind: 'header', length, source: undefined };
  const addressBytes = family === 0x11 ? 4 : 16;
  if (block.length < addressBytes * 2 + 4) return bad('its addresses are cut off');
  const address = addressIn(block.subarray(0, addressBytes));
  return { kind: 'header', length, source: { address, port: block.readUInt16BE(addressBytes * 2) } };
}

function addressIn(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16));
  // The URL parser knows the recommended form (RFC 5952).
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) <= 65_535;

const bad = (fault: string): ProxyHeader => ({ kind: 'bad', fault });
