import { DnsFormatError } from './dns-format-error.ts';
import { canonicalName } from './name.ts';
import { RECORD_TYPES, typeName } from './record-types.ts';
import type { DnsRecord, RecordData } from './record.ts';
import { byteStrings, recordValue } from './zone-text.ts';

/** A record as people and the API write it: names without their final dot, the strings of a TXT record as one text. */
export interface PlainRecord {
  name: string;
  type: string;
  value: string;
  /** MX only. */
  priority: number | null;
}

/** Whether two records say the same, however their names are written. */
export const isSamePlain = (a: PlainRecord, b: PlainRecord): boolean =>
  a.type === b.type && a.priority === b.priority && comparable(a) === comparable(b) && sameNames(a.name, b.name);

/** Names and the property of a CAA record have no letter case; texts have. */
function comparable({ type, value }: PlainRecord): string {
  return type === 'TXT' ? value : value.toLowerCase().replace(/\.$/, '');
}

/** What is no name at all is the same as nothing else. */
export function sameNames(a: string, b: string): boolean {
  try {
    return canonicalName(a) === canonicalName(b);
  } catch (error) {
    if (error instanceof DnsFormatError) return false;
    throw error;
  }
}

/** What can be published; anything else is a defect of ours. */
export function recordDataOf({ type, value, priority }: PlainRecord): RecordData {
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
      return { name, type: 'TXT', value: utf8Of(data.strings.join('')), priority: null };
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

/** Bytes that are no UTF-8 stay as they are, one character each. */
function utf8Of(bytes: string): string {
  const text = Buffer.from(bytes, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? bytes : text;
}
