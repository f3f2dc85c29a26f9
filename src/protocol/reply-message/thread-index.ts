/** [MS-OXOMSG] 2.2.1.3: one reserved byte, five of the time, sixteen of the conversation; then five for each answer. */
const ROOT_BYTES = 22;
const GUID_AT = 6;
const CHILD_BYTES = 5;
/** An answer of an answer, two hundred times; Outlook itself stops where the field gets too long. */
const CHILDREN_MAX = 200;
const FIELD_CHARS_MAX = 2000;
const BASE64 = /^[A-Za-z0-9+/]{28,}={0,2}$/;

/** Ticks of 100 ns between 1601, where Windows begins to count, and 1970. */
const EPOCH_TICKS = 116_444_736_000_000_000n;
const TICKS_PER_MS = 10_000n;
/** The difference of two answers is written without its lowest bits: 18 of them below 1.7 years, 23 above. */
const [SHORT_SHIFT, LONG_SHIFT] = [18n, 23n];
const DELTA_BITS = 31n;
const LONG_FLAG = 0x8000_0000n;

export interface ThreadIndex {
  bytes: Buffer;
  /** What all messages of a conversation have in common, in hexadecimal. */
  conversation: string;
}

/** Outlook's Thread-Index; undefined where the field holds none. */
export function readThreadIndex(field: string): ThreadIndex | undefined {
  const text = field.slice(0, FIELD_CHARS_MAX).replaceAll(/\s+/g, '');
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const children = (bytes.length - ROOT_BYTES) / CHILD_BYTES;
  if (!Number.isInteger(children) || children < 0 || children > CHILDREN_MAX || bytes[0] !== 1) return undefined;
  const guid = bytes.subarray(GUID_AT, ROOT_BYTES);
  return guid.every((byte) => byte === 0) ? undefined : { bytes, conversation: guid.toString('hex') };
}

/** The Thread-Index of an answer: that of the message it answers, and a block that says how much later it was written. */
export function childThreadIndex({ bytes }: ThreadIndex, { now, random }: { now: number; random: number }): string {
  if (bytes.length >= ROOT_BYTES + CHILDREN_MAX * CHILD_BYTES) return bytes.toString('base64');
  const root = bytes.readUIntBE(0, GUID_AT);
  const begun = BigInt(root) << 16n;
  const later = BigInt(Math.trunc(now)) * TICKS_PER_MS + EPOCH_TICKS - begun;
  const ticks = later < 0n ? 0n : later;
  const isLong = ticks >> (SHORT_SHIFT + DELTA_BITS) !== 0n;
  const delta = (ticks >> (isLong ? LONG_SHIFT : SHORT_SHIFT)) & (LONG_FLAG - 1n);
  const child = Buffer.alloc(CHILD_BYTES);
  child.writeUInt32BE(Number(delta | (isLong ? LONG_FLAG : 0n)), 0);
  child[CHILD_BYTES - 1] = random & 0xff;
  return Buffer.concat([bytes, child]).toString('base64');
}
