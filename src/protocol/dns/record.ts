import { isIPv4, isIPv6 } from 'node:net';
import {
  DnsFormatError,
  latin1,
  canonicalName,
  nameFromBytes,
  nameLabels,
  type WireReader,
  type WireWriter,
} from './wire.ts';

/**
 * The numbers of RFC 1035 §3.2.2, RFC 3596, RFC 8659, RFC 6891, RFC 8945, RFC 4034 and RFC 6698; types not listed here
 * are opaque.
 */
export const RECORD_TYPES = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  OPT: 41,
  DS: 43,
  DNSKEY: 48,
  TLSA: 52,
  TSIG: 250,
  AXFR: 252,
  ANY: 255,
  CAA: 257,
} as const;

export type RecordTypeName = keyof typeof RECORD_TYPES;

export const CLASSES = { IN: 1, NONE: 254, ANY: 255 } as const;

const NAMES = new Map<number, string>(Object.entries(RECORD_TYPES).map(([name, number]) => [number, name]));

export const typeNumber = (type: RecordTypeName | number): number =>
  typeof type === 'number' ? type : RECORD_TYPES[type];

/** RFC 3597 §5: a type without a name is written TYPE and its number. */
export const typeName = (number: number): string => NAMES.get(number) ?? `TYPE${number}`;

const STRING_BYTES_MAX = 255;

/**
 * Splits a text into the strings of a TXT record, 255 bytes each (RFC 1035 §3.3); readers join them without a
 * separator.
 */
export function byteStrings(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  if (bytes === '') return [''];
  return bytes.match(new RegExp(`[^]{1,${STRING_BYTES_MAX}}`, 'g')) ?? [];
}

/**
 * Formats a record for a zone file (RFC 1035 §5.1), with absolute names, so that no $ORIGIN is needed. A text of
 * several strings is in parentheses, one string to a line.
 */
export function zoneEntry({ name, ttl, data }: DnsRecord): string {
  const head = `${absolute(name)} ${ttl} IN ${typeName(toTypeNumber(data))}`;
  if (data.type !== 'TXT' || data.strings.length < 2) return `${head} ${recordValue(data)}`;
  return `${head} (\n${data.strings.map((string) => `  ${quoted(string)}`).join('\n')} )`;
}

/** Formats a record's data for a zone file; equal data has equal text except for the case of names. */
export function recordValue(data: RecordData): string {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return data.address;
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return absolute(data.target);
    case 'MX':
      return `${data.priority} ${absolute(data.exchange)}`;
    case 'TXT':
      return data.strings.map(quoted).join(' ');
    case 'CAA':
      return `${data.flags} ${data.tag} ${quoted(data.value)}`;
    case 'SOA':
      return [
        absolute(data.primary),
        absolute(data.mailbox),
        data.serial,
        data.refresh,
        data.retry,
        data.expire,
        data.minimum,
      ].join(' ');
    case 'TLSA':
      return `${data.usage} ${data.selector} ${data.matching} ${data.association.toString('hex')}`;
    case 'opaque':
      // RFC 3597 §5.
      return `\\# ${data.bytes.length}${data.bytes.length > 0 ? ` ${data.bytes.toString('hex')}` : ''}`;
  }
}

/**
 * Everything unprintable is escaped as a number, because a line break inside quotes would end the record in some
 * readers.
 */
const quoted = (bytes: string): string =>
  `"${bytes.replace(/[^\x20-\x7e]|["\\]/g, (char) =>
    /["\\]/.test(char) ? `\\${char}` : `\\${String(char.charCodeAt(0)).padStart(3, '0')}`,
  )}"`;

function absolute(name: string): string {
  const labels = nameLabels(name);
  return labels.length === 0 ? '.' : `${nameFromBytes(labels)}.`;
}

/** Reads the text of a TXT record, either in quoted strings, as in a zone file, or bare, as people type it. */
export function textOfStrings(content: string): string {
  if (!/^\s*"/.test(content)) return content;
  const strings = [...content.matchAll(/"((?:[^"\\]|\\.)*)("|\\?$)/gs)].map(([, string = '', end]) =>
    end === '"' ? string : '',
  );
  const bytes = strings
    .join('')
    .replaceAll(/\\(\d{3}|.)/gs, (_all, escaped: string) =>
      /^\d{3}$/.test(escaped) ? String.fromCharCode(Number(escaped)) : escaped,
    );
  // Non-ASCII characters came either as escaped bytes or as themselves.
  const isBytes = [...bytes].every((char) => char.charCodeAt(0) <= 0xff);
  const text = isBytes ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
  return text.includes('\ufffd') ? bytes : text;
}

/** A record as people and the API write it: names without their final dot, the strings of a TXT record as one text. */
export interface PlainRecord {
  name: string;
  type: string;
  value: string;
  /** MX only. */
  priority: number | null;
}

/** Reports whether two records are equal, however their names are written. */
export const isSamePlain = (a: PlainRecord, b: PlainRecord): boolean =>
  a.type === b.type && a.priority === b.priority && comparable(a) === comparable(b) && sameNames(a.name, b.name);

/** Names and the property of a CAA record are case-insensitive; texts are not. */
function comparable({ type, value }: PlainRecord): string {
  return type === 'TXT' ? value : value.toLowerCase().replace(/\.$/, '');
}

/** Compares two names. An invalid name equals no other. */
export function sameNames(a: string, b: string): boolean {
  try {
    return canonicalName(a) === canonicalName(b);
  } catch (error) {
    if (error instanceof DnsFormatError) return false;
    throw error;
  }
}

/** Converts a record for publication. Callers only pass valid records; anything else is a bug and throws. */
export function toRecordData({ type, value, priority }: PlainRecord): RecordData {
  switch (type) {
    case 'TXT':
      return { type: 'TXT', strings: byteStrings(value) };
    case 'MX':
      return { type: 'MX', priority: priority ?? 0, exchange: value };
    case 'CNAME':
      return { type: 'CNAME', target: value };
    case 'CAA': {
      const match = /^(\d{1,3}) ([A-Za-z0-9]+) "(.*)"$/.exec(value);
      if (!match) throw new DnsFormatError(`A CAA record reads like 0 issue "ca.example"; got ${value.slice(0, 80)}.`);
      return { type: 'CAA', flags: Number(match[1]), tag: match[2] ?? '', value: match[3] ?? '' };
    }
    default:
      throw new DnsFormatError(`Records of the type ${type} are not published.`);
  }
}

export function plainRecord({ name, data }: DnsRecord): PlainRecord {
  switch (data.type) {
    case 'TXT':
      return { name, type: 'TXT', value: decodeUtf8(data.strings.join('')), priority: null };
    case 'MX':
      return { name, type: 'MX', value: data.exchange, priority: data.priority };
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return { name, type: data.type, value: data.target, priority: null };
    case 'opaque':
      return { name, type: typeName(data.number), value: recordValue(data), priority: null };
    default:
      return { name, type: typeName(RECORD_TYPES[data.type]), value: recordValue(data), priority: null };
  }
}

/** Decodes bytes as UTF-8; invalid UTF-8 stays as it is, one character a byte. */
function decodeUtf8(bytes: string): string {
  const text = Buffer.from(bytes, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? bytes : text;
}

/** Strings are bytes, one character each. Names have no final dot. */
export type RecordData =
  | { type: 'A' | 'AAAA'; address: string }
  | { type: 'NS' | 'CNAME' | 'PTR'; target: string }
  | { type: 'MX'; priority: number; exchange: string }
  | { type: 'TXT'; strings: string[] }
  | { type: 'CAA'; flags: number; tag: string; value: string }
  | SoaData
  | ({ type: 'TLSA' } & TlsaRecord)
  /** Every other type, and every record without data, which updates have (RFC 2136 §2.4, §2.5). */
  | { type: 'opaque'; number: number; bytes: Buffer };

type SoaData = {
  type: 'SOA';
  primary: string;
  mailbox: string;
  serial: number;
  refresh: number;
  retry: number;
  expire: number;
  minimum: number;
};

/** RFC 6698 §2.1: which certificates a TLS server may present. */
export interface TlsaRecord {
  usage: number;
  selector: number;
  matching: number;
  /** The certificate or public key, or its digest. */
  association: Buffer;
}

export interface DnsRecord {
  name: string;
  class: number;
  ttl: number;
  data: RecordData;
}

const toTypeNumber = (data: RecordData): number => (data.type === 'opaque' ? data.number : RECORD_TYPES[data.type]);

export function writeRecord(writer: WireWriter, record: DnsRecord): void {
  writer.name(record.name);
  writer.uint16(toTypeNumber(record.data));
  writer.uint16(record.class);
  writer.uint32(record.ttl);
  writer.measured(() => writeData(writer, record.data));
}

export function readRecord(reader: WireReader): DnsRecord {
  const name = reader.name();
  const number = reader.uint16();
  const recordClass = reader.uint16();
  const ttl = reader.uint32();
  const length = reader.uint16();
  const from = reader.at;
  const bytes = reader.take(length);
  // Names in the data may point to earlier bytes of the message, never to later ones.
  const inner = reader.within(from, from + length);
  const data: RecordData = length === 0 ? opaque(number, bytes) : readData(inner, number, from + length, bytes);
  if (data.type !== 'opaque' && inner.at !== from + length) {
    throw new DnsFormatError(`The data of the ${data.type} record of ${name} has bytes left over.`);
  }
  return { name, class: recordClass, ttl, data };
}

function writeData(writer: WireWriter, data: RecordData): void {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return writer.bytes(addressBytes(data.type, data.address));
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return writer.name(data.target);
    case 'MX':
      writer.uint16(data.priority);
      return writer.name(data.exchange);
    case 'TXT':
      if (data.strings.length === 0)
        throw new DnsFormatError('A TXT record has one string at least (RFC 1035 §3.3.14).');
      for (const text of data.strings) writer.shortString(text);
      return;
    case 'CAA':
      if (!/^[A-Za-z0-9]{1,255}$/.test(data.tag)) {
        throw new DnsFormatError(
          `A CAA tag has letters and digits, 1 to 255 of them; got ${JSON.stringify(data.tag.slice(0, 80))}.`,
        );
      }
      writer.uint8(data.flags);
      writer.shortString(data.tag);
      return writer.bytes(latin1(data.value));
    case 'SOA':
      writer.name(data.primary);
      writer.name(data.mailbox);
      for (const number of [data.serial, data.refresh, data.retry, data.expire, data.minimum]) writer.uint32(number);
      return;
    case 'TLSA':
      for (const number of [data.usage, data.selector, data.matching]) writer.uint8(number);
      return writer.bytes(data.association);
    case 'opaque':
      return writer.bytes(data.bytes);
  }
}

function readData(reader: WireReader, number: number, end: number, bytes: Buffer): RecordData {
  switch (number) {
    case RECORD_TYPES.A:
      return { type: 'A', address: [...reader.take(4)].join('.') };
    case RECORD_TYPES.AAAA:
      return { type: 'AAAA', address: ipv6Text(reader.take(16)) };
    case RECORD_TYPES.NS:
      return { type: 'NS', target: reader.name() };
    case RECORD_TYPES.CNAME:
      return { type: 'CNAME', target: reader.name() };
    case RECORD_TYPES.PTR:
      return { type: 'PTR', target: reader.name() };
    case RECORD_TYPES.MX:
      return { type: 'MX', priority: reader.uint16(), exchange: reader.name() };
    case RECORD_TYPES.TXT: {
      const strings: string[] = [];
      while (reader.at < end) {
        reader.step();
        strings.push(reader.take(reader.uint8()).toString('latin1'));
      }
      return { type: 'TXT', strings };
    }
    case RECORD_TYPES.CAA: {
      const flags = reader.uint8();
      const tag = reader.take(reader.uint8()).toString('latin1');
      if (!/^[A-Za-z0-9]+$/.test(tag))
        throw new DnsFormatError('The tag of a CAA record is not made of letters and digits.');
      return { type: 'CAA', flags, tag, value: reader.take(end - reader.at).toString('latin1') };
    }
    case RECORD_TYPES.SOA:
      return {
        type: 'SOA',
        primary: reader.name(),
        mailbox: reader.name(),
        serial: reader.uint32(),
        refresh: reader.uint32(),
        retry: reader.uint32(),
        expire: reader.uint32(),
        minimum: reader.uint32(),
      };
    case RECORD_TYPES.TLSA:
      return {
        type: 'TLSA',
        usage: reader.uint8(),
        selector: reader.uint8(),
        matching: reader.uint8(),
        association: Buffer.from(reader.take(end - reader.at)),
      };
    default:
      return opaque(number, bytes);
  }
}

const opaque = (number: number, bytes: Buffer): RecordData => ({ type: 'opaque', number, bytes: Buffer.from(bytes) });

function addressBytes(type: 'A' | 'AAAA', address: string): Buffer {
  if (type === 'A' && isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  if (type === 'AAAA' && isIPv6(address) && !address.includes('%')) return ipv6Bytes(address);
  throw new DnsFormatError(
    `An ${type} record holds an ${type === 'A' ? 'IPv4' : 'IPv6'} address; got ${JSON.stringify(address.slice(0, 80))}.`,
  );
}

function ipv6Bytes(address: string): Buffer {
  const [head = '', tail] = canonicalIpv6(address).split('::');
  const groups = (half: string): number[] => (half === '' ? [] : half.split(':').map((group) => parseInt(group, 16)));
  const left = groups(head);
  const right = groups(tail ?? '');
  const zeros = new Array<number>(8 - left.length - right.length).fill(0);
  const bytes = Buffer.alloc(16);
  [...left, ...zeros, ...right].forEach((group, i) => bytes.writeUInt16BE(group, i * 2));
  return bytes;
}

const ipv6Text = (bytes: Buffer): string =>
  canonicalIpv6(Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16)).join(':'));

/**
 * RFC 5952 as URLs apply it: lower case, no leading zeros, the first of the longest runs of zeros as `::`, no dotted
 * end.
 */
const canonicalIpv6 = (address: string): string => new URL(`http://[${address}]/`).hostname.slice(1, -1);
