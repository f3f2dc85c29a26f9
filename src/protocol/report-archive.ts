import { promisify } from 'node:util';
import { crc32, gunzip, inflateRaw } from 'node:zlib';
import { cleanReportText } from './report-text.ts';

export type UnpackedReport = {
  kind: 'unpacked';
  content: Buffer;
  /** The name of the file in a zip archive. */
  name?: string;
};

type Fault = { fault: string };

const gunzipAsync = promisify(gunzip);
const inflateRawAsync = promisify(inflateRaw);

/** A report of 5,000 records from 256 addresses shrinks to a 118th; Deflate itself can reach a thousandth. */
const RATIO_MAX = 400;
/** A small file may expand to this size whatever its ratio is. */
const RATIO_FREE_BYTES = 1024 * 1024;
const ENTRIES_MAX = 100;
const NAME_CHARS_MAX = 255;

/**
 * Unpacks the attachment of a DMARC or TLS report: XML or JSON as it is, in gzip, or in a zip archive. The content
 * decides, because senders mix up media types and file names. An archive that expands to more than `bytesMax`, or to
 * far more than a report can, ends with a fault before it is unpacked further. Decompression runs on other threads.
 */
export async function unpackReport(bytes: Buffer, { bytesMax }: { bytesMax: number }): Promise<UnpackedReport | Fault> {
  if (bytes.length > bytesMax) return { fault: `The file has ${bytes.length} bytes; at most ${bytesMax} are allowed.` };
  if (bytes.length >= 2 && bytes.readUInt16BE(0) === 0x1f8b) {
    const content = await inflate(trimEnd(bytes), gunzipAsync, bytesMax);
    return 'fault' in content ? content : { kind: 'unpacked', ...content };
  }
  if (bytes.subarray(0, 2).equals(Buffer.from('PK'))) return unpackZip(bytes, bytesMax);
  const isText = /^(?:\uFEFF)?\s*[<{]/.test(bytes.toString('utf8', 0, 256));
  return isText ? { kind: 'unpacked', content: bytes } : { fault: 'The file is not XML, JSON, gzip or zip.' };
}

/**
 * Removes white space after the end of a gzip file, where Mimecast puts a line end. The last byte of the file itself is the
 * highest of the unpacked size, which is white space only from 144 MiB on.
 */
function trimEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && [0x09, 0x0a, 0x0d, 0x20].includes(bytes[end - 1] ?? 0)) end--;
  return bytes.subarray(0, end);
}

async function inflate(
  bytes: Buffer,
  decompress: (bytes: Buffer, options: { maxOutputLength: number; chunkSize: number }) => Promise<Buffer>,
  bytesMax: number,
): Promise<{ content: Buffer } | Fault> {
  const maxOutputLength = Math.min(bytesMax, Math.max(RATIO_FREE_BYTES, bytes.length * RATIO_MAX));
  try {
    return { content: await decompress(bytes, { maxOutputLength, chunkSize: 64 * 1024 }) };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE') {
      return { fault: `The file of ${bytes.length} bytes expands to more than ${maxOutputLength} bytes.` };
    }
    return { fault: code === 'Z_BUF_ERROR' ? 'The compressed file is cut off.' : 'The compressed file is damaged.' };
  }
}

type ZipEntry = {
  name: string;
  flags: number;
  method: number;
  checksum: number;
  packedBytes: number;
  bytes: number;
  /** The position of the entry's local header. */
  at: number;
};

const END_SIGNATURE = 0x06054b50;
const END_BYTES = 22;
const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL_SIGNATURE = 0x04034b50;
const LOCAL_BYTES = 30;
const STORED = 0;
const DEFLATED = 8;
const ENCRYPTED = 1;
/** The name is UTF-8; otherwise its characters are unknown beyond ASCII. */
const UTF8_NAME = 0x800;

/**
 * Unpacks the report in a zip archive. Sizes are read from the directory at its end, so that it does not matter whether
 * the local headers have them or a data descriptor follows.
 */
async function unpackZip(bytes: Buffer, bytesMax: number): Promise<UnpackedReport | Fault> {
  const entries = readDirectory(bytes);
  if ('fault' in entries) return entries;
  const files = entries.filter(({ name }) => !name.endsWith('/') && !name.startsWith('__MACOSX/'));
  const entry = files.length === 1 ? files[0] : files.find(({ name }) => /\.(?:xml|json)$/i.test(name));
  if (!entry) return { fault: `None of the ${files.length} files in the archive is a report.` };
  if (entry.flags & ENCRYPTED) return { fault: 'The archive is encrypted.' };
  const packed = findData(bytes, entry);
  if (!packed) return { fault: 'The archive is damaged.' };
  let content = packed;
  if (entry.method === DEFLATED) {
    const result = await inflate(packed, inflateRawAsync, bytesMax);
    if ('fault' in result) return result;
    content = result.content;
  } else if (entry.method !== STORED) {
    return { fault: `The archive uses compression method ${entry.method}; only stored and deflated are supported.` };
  }
  if (crc32(content) !== entry.checksum) return { fault: 'The archive is damaged: its checksum does not match.' };
  return { kind: 'unpacked', content, name: cleanReportText(entry.name, NAME_CHARS_MAX) };
}

function readDirectory(bytes: Buffer): ZipEntry[] | Fault {
  const end = findEnd(bytes);
  if (end === undefined) return { fault: 'The archive is cut off: it has no directory.' };
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  if (count === 0xffff || at === 0xffffffff) return { fault: 'The archive is in the zip64 format.' };
  if (count > ENTRIES_MAX) return { fault: `The archive has ${count} files; at most ${ENTRIES_MAX} are allowed.` };
  const entries: ZipEntry[] = [];
  for (let index = 0; index < count; index++) {
    if (at + ENTRY_BYTES > end || bytes.readUInt32LE(at) !== ENTRY_SIGNATURE) {
      return { fault: 'The directory of the archive is damaged.' };
    }
    const nameBytes = bytes.readUInt16LE(at + 28);
    const flags = bytes.readUInt16LE(at + 8);
    const entry = {
      name: bytes.toString(flags & UTF8_NAME ? 'utf8' : 'latin1', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes),
      flags,
      method: bytes.readUInt16LE(at + 10),
      checksum: bytes.readUInt32LE(at + 16),
      packedBytes: bytes.readUInt32LE(at + 20),
      bytes: bytes.readUInt32LE(at + 24),
      at: bytes.readUInt32LE(at + 42),
    };
    if ([entry.packedBytes, entry.bytes, entry.at].includes(0xffffffff)) {
      return { fault: 'The archive is in the zip64 format.' };
    }
    entries.push(entry);
    at += ENTRY_BYTES + nameBytes + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return entries;
}

/** Finds the last record of the archive, which only a comment of at most 65,535 bytes may follow. */
function findEnd(bytes: Buffer): number | undefined {
  for (let at = bytes.length - END_BYTES; at >= Math.max(0, bytes.length - END_BYTES - 0xffff); at--) {
    if (bytes.readUInt32LE(at) === END_SIGNATURE) return at;
  }
  return undefined;
}

/** The local header has its own lengths of name and extra field. */
function findData(bytes: Buffer, { at, packedBytes }: ZipEntry): Buffer | undefined {
  if (at + LOCAL_BYTES > bytes.length || bytes.readUInt32LE(at) !== LOCAL_SIGNATURE) return undefined;
  const start = at + LOCAL_BYTES + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
  const data = bytes.subarray(start, start + packedBytes);
  return data.length === packedBytes ? data : undefined;
}
