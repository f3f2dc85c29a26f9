import { CLASSES, RECORD_TYPES, typeNumber, type RecordTypeName } from './record-types.ts';
import { emptyMessage, OPCODES, type DnsMessage } from './message.ts';
import type { DnsRecord, RecordData } from './record.ts';

/** What must hold in the zone, or the server changes nothing (RFC 2136 §2.4). */
export type Prerequisite = DnsRecord[];

/** RFC 2136 §2: all changes are made at once or none is. */
export function updateMessage(
  id: number,
  zone: string,
  prerequisites: readonly Prerequisite[],
  changes: readonly DnsRecord[],
): DnsMessage {
  return {
    ...emptyMessage(id, OPCODES.update),
    questions: [{ name: zone, type: RECORD_TYPES.SOA, class: CLASSES.IN }],
    answers: prerequisites.flat(),
    authorities: [...changes],
  };
}

/** §2.4.2: the set has exactly these records, whatever their order and ttl. */
export const recordSetIs = (name: string, data: readonly RecordData[]): Prerequisite =>
  data.map((one) => ({ name, class: CLASSES.IN, ttl: 0, data: one }));

/** §2.4.3. */
export const recordSetIsAbsent = (name: string, type: RecordTypeName | number): Prerequisite => [
  { name, class: CLASSES.NONE, ttl: 0, data: noData(type) },
];

/** §2.4.5: no record of any type. */
export const nameIsUnused = (name: string): Prerequisite => [
  { name, class: CLASSES.NONE, ttl: 0, data: noData('ANY') },
];

/** §2.5.1. */
export const addRecord = (name: string, ttl: number, data: RecordData): DnsRecord => ({
  name,
  class: CLASSES.IN,
  ttl,
  data,
});

/** §2.5.4: this record alone; others of its set stay. */
export const deleteRecord = (name: string, data: RecordData): DnsRecord => ({
  name,
  class: CLASSES.NONE,
  ttl: 0,
  data,
});

const noData = (type: RecordTypeName | number): RecordData => ({
  type: 'opaque',
  number: typeNumber(type),
  bytes: Buffer.alloc(0),
});
