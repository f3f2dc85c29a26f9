import { createHmac, timingSafeEqual } from 'node:crypto';
import { DnsFormatError, canonicalName, WireReader, WireWriter } from './wire.ts';
import { decodeWithPlaces, encodeMessage, rcodeName, RCODES, type DnsMessage } from './message.ts';
import { CLASSES, RECORD_TYPES, type DnsRecord } from './record.ts';

/** RFC 8945 §6, without the deprecated algorithms (MD5, SHA-1) and without truncated ones. */
export const TSIG_ALGORITHMS = ['hmac-sha256', 'hmac-sha384', 'hmac-sha512'] as const;
export type TsigAlgorithm = (typeof TSIG_ALGORITHMS)[number];

export interface TsigKey {
  name: string;
  algorithm: TsigAlgorithm;
  secret: Buffer;
}

export interface SignedMessage {
  bytes: Buffer;
  /** The answer's signature covers it, so that an answer to another request is rejected. */
  mac: Buffer;
}

export type TsigResult = { ok: true; message: DnsMessage } | { ok: false; fault: string };

/** RFC 8945 §10: the recommended five minutes. */
const FUDGE_SECONDS = 300;

/** The fields of a signature record. */
interface TsigFields {
  algorithm: string;
  timeSeconds: number;
  fudgeSeconds: number;
  mac: Buffer;
  originalId: number;
  error: number;
  other: Buffer;
}

/** Adds a signature as the last record (RFC 8945 §5.1). Pass `requestMac` only for an answer. */
export function signMessage(
  message: DnsMessage,
  key: TsigKey,
  timeSeconds: number,
  requestMac?: Buffer,
): SignedMessage {
  const fields: TsigFields = {
    algorithm: key.algorithm,
    timeSeconds,
    fudgeSeconds: FUDGE_SECONDS,
    mac: Buffer.alloc(0),
    originalId: message.id,
    error: RCODES.NOERROR,
    other: Buffer.alloc(0),
  };
  const mac = computeMac(encodeMessage(message), key, fields, requestMac);
  const signature: DnsRecord = {
    name: key.name,
    class: CLASSES.ANY,
    ttl: 0,
    data: { type: 'opaque', number: RECORD_TYPES.TSIG, bytes: tsigBytes({ ...fields, mac }) },
  };
  return { bytes: encodeMessage({ ...message, additionals: [...message.additionals, signature] }), mac };
}

/**
 * Verifies that a message was signed with this key, within the allowed time, and as the answer to the request with
 * `requestMac` (RFC 8945 §5.3). Returns the message without its signature. Bytes that are not a message are reported as
 * a fault, too.
 */
export function verifyMessage(bytes: Buffer, key: TsigKey, timeSeconds: number, requestMac?: Buffer): TsigResult {
  try {
    return verify(bytes, key, timeSeconds, requestMac);
  } catch (error) {
    if (!(error instanceof DnsFormatError)) throw error;
    return { ok: false, fault: error.message };
  }
}

/** Returns the error code in a message's signature; undefined if the message is not signed. */
export function signatureError(message: DnsMessage): number | undefined {
  const signature = message.additionals.at(-1);
  return signature && isSignature(signature) ? readTsig(signature).error : undefined;
}

function verify(bytes: Buffer, key: TsigKey, timeSeconds: number, requestMac: Buffer | undefined): TsigResult {
  const { message, lastRecordAt } = decodeWithPlaces(bytes);
  const signature = message.additionals.at(-1);
  const all = [...message.answers, ...message.authorities, ...message.additionals].filter(isSignature);
  if (signature === undefined || !isSignature(signature)) {
    return { ok: false, fault: `It is not signed; it says ${rcodeName(message.rcode)}.` };
  }
  if (all.length > 1) return { ok: false, fault: 'It has more than one signature.' };
  const fields = readTsig(signature);
  if (canonicalName(signature.name) !== canonicalName(key.name)) {
    return { ok: false, fault: `It is signed with the key ${signature.name}, not with ${key.name}.` };
  }
  if (fields.algorithm !== key.algorithm) {
    return { ok: false, fault: `It is signed with ${fields.algorithm}, not with ${key.algorithm}.` };
  }
  // §5.3.2: these error answers cannot be signed, so their content is only a hint.
  if (fields.mac.length === 0)
    return { ok: false, fault: `It is not signed; it says ${rcodeName(fields.error || message.rcode)}.` };
  const unsigned = Buffer.from(bytes.subarray(0, lastRecordAt));
  unsigned.writeUInt16BE(fields.originalId, 0);
  unsigned.writeUInt16BE(message.additionals.length - 1, 10);
  const mac = computeMac(unsigned, key, fields, requestMac);
  // §5.2.2.1 would accept a truncated MAC of half the length; servers send the whole MAC unless configured otherwise.
  if (mac.length !== fields.mac.length || !timingSafeEqual(mac, fields.mac)) {
    return { ok: false, fault: 'Its signature is wrong.' };
  }
  if (Math.abs(timeSeconds - fields.timeSeconds) > fields.fudgeSeconds && fields.error !== RCODES.BADTIME) {
    return {
      ok: false,
      fault: `It was signed ${Math.abs(timeSeconds - fields.timeSeconds)} seconds from now; at most ${fields.fudgeSeconds} are allowed.`,
    };
  }
  if (fields.error !== RCODES.NOERROR) return { ok: false, fault: `It says ${rcodeName(fields.error)}.` };
  return { ok: true, message: { ...message, additionals: message.additionals.slice(0, -1) } };
}

const isSignature = ({ data }: DnsRecord): boolean => data.type === 'opaque' && data.number === RECORD_TYPES.TSIG;

function computeMac(unsigned: Buffer, key: TsigKey, fields: TsigFields, requestMac: Buffer | undefined): Buffer {
  const hmac = createHmac(key.algorithm.slice('hmac-'.length), key.secret);
  if (requestMac) {
    // §5.3.1: the request's MAC, preceded by its length.
    const length = Buffer.alloc(2);
    length.writeUInt16BE(requestMac.length);
    hmac.update(length).update(requestMac);
  }
  return hmac.update(unsigned).update(tsigVariables(key, fields)).digest();
}

/** §4.3.3: names in lower case and never compressed. */
function tsigVariables(key: TsigKey, fields: TsigFields): Buffer {
  const writer = new WireWriter({ compress: false });
  writer.name(canonicalName(key.name));
  writer.uint16(CLASSES.ANY);
  writer.uint32(0);
  writer.name(fields.algorithm);
  writer.uint48(fields.timeSeconds);
  writer.uint16(fields.fudgeSeconds);
  writer.uint16(fields.error);
  writer.measured(() => writer.bytes(fields.other));
  return writer.done();
}

/** §4.2. */
function tsigBytes(fields: TsigFields): Buffer {
  const writer = new WireWriter({ compress: false });
  writer.name(fields.algorithm);
  writer.uint48(fields.timeSeconds);
  writer.uint16(fields.fudgeSeconds);
  writer.measured(() => writer.bytes(fields.mac));
  writer.uint16(fields.originalId);
  writer.uint16(fields.error);
  writer.measured(() => writer.bytes(fields.other));
  return writer.done();
}

function readTsig({ data, ...record }: DnsRecord): TsigFields {
  if (record.class !== CLASSES.ANY || record.ttl !== 0 || data.type !== 'opaque') {
    throw new DnsFormatError('A signature has the class ANY and the ttl 0 (RFC 8945 §4.2).');
  }
  const reader = new WireReader(data.bytes);
  const fields: TsigFields = {
    algorithm: canonicalName(reader.name()),
    timeSeconds: reader.uint48(),
    fudgeSeconds: reader.uint16(),
    mac: reader.take(reader.uint16()),
    originalId: reader.uint16(),
    error: reader.uint16(),
    other: reader.take(reader.uint16()),
  };
  if (reader.at !== data.bytes.length) throw new DnsFormatError('A signature has bytes left over.');
  return fields;
}
