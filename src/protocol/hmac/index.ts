/**
 * HMAC-SHA256 (RFC 2104) for whoever signs thousands of short texts a second. Promises what `createHmac` answers, at less
 * than half of its cost: it makes no object for each text. It never shows its key.
 */
import { createHash, createHmac, createSecretKey, hash } from 'node:crypto';

/** The MAC of the data, in UTF-8 where it is text. */
export type HmacSha256 = (data: string | Uint8Array, encoding: 'base64' | 'binary') => string;

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** Of longer data the hash costs more than anything that is saved here. */
const SHORT_BYTES_MAX = 8192;
/** UTF-8 takes no more for one unit of UTF-16. */
const BYTES_PER_UNIT_MAX = 3;

/** Of nobody's own: what is written here is hashed before anything else happens. */
const scratch = Buffer.alloc(BLOCK_BYTES + SHORT_BYTES_MAX);

export function hmacSha256(key: Uint8Array): HmacSha256 {
  const secret = createSecretKey(key);
  const inner = Buffer.alloc(BLOCK_BYTES);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  const block = key.length > BLOCK_BYTES ? createHash('sha256').update(key).digest() : key;
  for (let i = 0; i < BLOCK_BYTES; i++) {
    inner[i] = (block[i] ?? 0) ^ 0x36;
    outer[i] = (block[i] ?? 0) ^ 0x5c;
  }
  return (data, encoding) => {
    const isText = typeof data === 'string';
    if (data.length * (isText ? BYTES_PER_UNIT_MAX : 1) > SHORT_BYTES_MAX) {
      return createHmac('sha256', secret).update(data).digest(encoding);
    }
    let bytes = data.length;
    scratch.set(inner);
    if (isText) bytes = scratch.write(data, BLOCK_BYTES, 'utf8');
    else scratch.set(data, BLOCK_BYTES);
    outer.write(hash('sha256', scratch.subarray(0, BLOCK_BYTES + bytes), 'binary'), BLOCK_BYTES, 'binary');
    return hash('sha256', outer, encoding);
  };
}
