import { DnsFormatError, WireReader, WireWriter } from './wire.ts';
import {
  CLASSES,
  RECORD_TYPES,
  typeNumber,
  readRecord,
  writeRecord,
  type RecordTypeName,
  type DnsRecord,
  type RecordData,
} from './record.ts';

export interface Question {
  name: string;
  /** The type's number, see typeNumber. */
  type: number;
  class: number;
}

/** An update has the same four sections: its zone, prerequisites, changes and additional records (RFC 2136 §2). */
export interface DnsMessage {
  id: number;
  isAnswer: boolean;
  opcode: number;
  authoritative: boolean;
  truncated: boolean;
  recursionDesired: boolean;
  recursionAvailable: boolean;
  /** The two bits of RFC 4035 §3.1.6 and §3.2.2. */
  authenticData: boolean;
  checkingDisabled: boolean;
  rcode: number;
  questions: Question[];
  answers: DnsRecord[];
  authorities: DnsRecord[];
  additionals: DnsRecord[];
}

export const OPCODES = { query: 0, update: 5 } as const;

/** RFC 1035 §4.1.1, RFC 2136 §2.2, RFC 8945 §3. */
export const RCODES = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  YXDOMAIN: 6,
  YXRRSET: 7,
  NXRRSET: 8,
  NOTAUTH: 9,
  NOTZONE: 10,
  BADSIG: 16,
  BADKEY: 17,
  BADTIME: 18,
  BADTRUNC: 22,
} as const;

export const rcodeName = (rcode: number): string =>
  Object.entries(RCODES).find(([, number]) => number === rcode)?.[0] ?? `RCODE${rcode}`;

export interface QuestionOptions {
  /** true to ask a recursive server, as a stub does; false to ask an authoritative one. */
  recursionDesired: boolean;
  /** Asks a validating resolver to report whether the answer is authentic (RFC 6840 §5.7). */
  authenticData?: boolean;
  /** Asks a validating resolver not to reject bogus answers (RFC 4035 §3.2.2). */
  checkingDisabled?: boolean;
  /** Without it, the message has no OPT record. */
  udpBytesMax?: number;
}

export function questionMessage(
  id: number,
  name: string,
  type: RecordTypeName | number,
  options: QuestionOptions,
): DnsMessage {
  return {
    ...emptyMessage(id, OPCODES.query),
    recursionDesired: options.recursionDesired,
    authenticData: options.authenticData ?? false,
    checkingDisabled: options.checkingDisabled ?? false,
    questions: [{ name, type: typeNumber(type), class: CLASSES.IN }],
    additionals: options.udpBytesMax === undefined ? [] : [ednsRecord(options.udpBytesMax)],
  };
}

const emptyMessage = (id: number, opcode: number): DnsMessage => ({
  id,
  isAnswer: false,
  opcode,
  authoritative: false,
  truncated: false,
  recursionDesired: false,
  recursionAvailable: false,
  authenticData: false,
  checkingDisabled: false,
  rcode: RCODES.NOERROR,
  questions: [],
  answers: [],
  authorities: [],
  additionals: [],
});

/** RFC 6891 §6.1.2: the largest answer we accept over UDP; 512 bytes without this record. */
const ednsRecord = (udpBytesMax: number): DnsRecord => ({
  name: '.',
  class: udpBytesMax,
  ttl: 0,
  data: { type: 'opaque', number: RECORD_TYPES.OPT, bytes: Buffer.alloc(0) },
});

export function encodeMessage(message: DnsMessage, options: { compress: boolean } = { compress: false }): Buffer {
  const writer = new WireWriter(options);
  writer.uint16(message.id);
  writer.uint16(encodeFlags(message));
  const sections = [message.answers, message.authorities, message.additionals];
  for (const section of [message.questions, ...sections]) writer.uint16(section.length);
  for (const question of message.questions) {
    writer.name(question.name);
    writer.uint16(question.type);
    writer.uint16(question.class);
  }
  for (const record of sections.flat()) writeRecord(writer, record);
  return writer.done();
}

export const decodeMessage = (bytes: Buffer): DnsMessage => decodeWithPlaces(bytes).message;

/** More than any name has of one type, and more than a legitimate answer contains. */
const RECORDS_MAX = 500;

/**
 * Also returns the offset of the last record, which is where a signature is, and the number of steps that reading took.
 */
export function decodeWithPlaces(bytes: Buffer): { message: DnsMessage; lastRecordAt: number; steps: number } {
  const reader = new WireReader(bytes);
  const id = reader.uint16();
  const flags = reader.uint16();
  const counts = [reader.uint16(), reader.uint16(), reader.uint16(), reader.uint16()] as const;
  const total = counts[0] + counts[1] + counts[2] + counts[3];
  if (total > RECORDS_MAX) {
    throw new DnsFormatError(
      `The message says that it has ${total} questions and records; at most ${RECORDS_MAX} are read.`,
    );
  }
  const questions: Question[] = [];
  for (let i = 0; i < counts[0]; i++) {
    questions.push({ name: reader.name(), type: reader.uint16(), class: reader.uint16() });
  }
  let lastRecordAt = reader.at;
  const section = (count: number): DnsRecord[] => {
    const records: DnsRecord[] = [];
    for (let i = 0; i < count; i++) {
      reader.step();
      lastRecordAt = reader.at;
      records.push(readRecord(reader));
    }
    return records;
  };
  const answers = section(counts[1]);
  const authorities = section(counts[2]);
  const additionals = section(counts[3]);
  const message = { id, ...flagsFrom(flags), questions, answers, authorities, additionals };
  return { message, lastRecordAt, steps: reader.steps };
}

const bit = (isSet: boolean, place: number): number => (isSet ? 1 << place : 0);

function encodeFlags(message: DnsMessage): number {
  return (
    bit(message.isAnswer, 15) |
    ((message.opcode & 0xf) << 11) |
    bit(message.authoritative, 10) |
    bit(message.truncated, 9) |
    bit(message.recursionDesired, 8) |
    bit(message.recursionAvailable, 7) |
    bit(message.authenticData, 5) |
    bit(message.checkingDisabled, 4) |
    (message.rcode & 0xf)
  );
}

function flagsFrom(flags: number) {
  const has = (place: number): boolean => ((flags >> place) & 1) === 1;
  return {
    isAnswer: has(15),
    opcode: (flags >> 11) & 0xf,
    authoritative: has(10),
    truncated: has(9),
    recursionDesired: has(8),
    recursionAvailable: has(7),
    authenticData: has(5),
    checkingDisabled: has(4),
    rcode: flags & 0xf,
  };
}

/** Conditions on the zone; if one does not hold, the server changes nothing (RFC 2136 §2.4). */
export type Prerequisite = DnsRecord[];

/** RFC 2136 §2: the server makes all changes at once or none. */
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

/** §2.5.4: deletes this record only; others of its set stay. */
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
