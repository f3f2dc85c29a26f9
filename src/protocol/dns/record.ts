import { isIPv4, isIPv6 } from 'node:net';
import { DnsFormatError } from './dns-format-error.ts';
import { RECORD_TYPES } from './record-types.ts';
import type { WireReader } from './wire-reader.ts';
import { latin1, type WireWriter } from './wire-writer.ts';

/** Strings are bytes: one character each. Names are written without their final dot. */
export type RecordData =
  | { type: 'A' | 'AAAA'; address: string }
  | { type: 'NS' | 'CNAME' | 'PTR'; target: string }
  | { type: 'MX'; priority: number; exchange: string }
  | { type: 'TXT'; strings: string[] }
  | { type: 'CAA'; flags: number; tag: string; value: string }
  | SoaData
  /** Every other type, and every record without data, which updates have (RFC 2136 §2.4, §2.5). */
  | { type: 'opaque'; number: number; bytes: Buffer };

export type SoaData = {
  type: 'SOA';
  primary: string;
  mailbox: string;
  serial: number;
  refresh: number;
  retry: number;
  expire: number;
  minimum: number;
};

export interface DnsRecord {
  name: string;
  class: number;
  ttl: number;
  data: RecordData;
}

export const typeOf = (data: RecordData): number => (data.type === 'opaque' ? data.number : RECORD_TYPES[data.type]);

export function writeRecord(writer: WireWriter, record: DnsRecord): void {
  writer.name(record.name);
  writer.uint16(typeOf(record.data));
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
  const [left, right] = [groups(head), groups(tail ?? '')];
  const zeros = new Array<number>(8 - left.length - right.length).fill(0);
  const bytes = Buffer.alloc(16);
  [...left, ...zeros, ...right].forEach((group, i) => bytes.writeUInt16BE(group, i * 2));
  return bytes;
}

const ipv6Text = (bytes: Buffer): string =>
  canonicalIpv6(Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16)).join(':'));

/** RFC 5952 as URLs have it: lower case, no leading zeros, the first of the longest runs of zeros as `::`, no dotted end. */
const canonicalIpv6 = (address: string): string => new URL(`http://[${address}]/`).hostname.slice(1, -1);
