/**
 * DNS messages as bytes (RFC 1035): questions, answers, updates (RFC 2136) and their signatures (RFC 8945), and records as
 * the text of a zone file. Whatever bytes come in, reading them ends soon and either gives a message or throws a
 * DnsFormatError. It never sends or asks anything, and never knows the time unless it is told.
 */
export { DnsFormatError } from './dns-format-error.ts';
export { canonicalName, canonicalOfRead, isWithin, isWithinCanonical, nameFromBytes, nameLabels } from './name.ts';
export { CLASSES, RECORD_TYPES, typeName, typeNumber } from './record-types.ts';
export type { RecordTypeName } from './record-types.ts';
export type { DnsRecord, RecordData } from './record.ts';
export { decodeMessage, encodeMessage, OPCODES, questionMessage, RCODES, rcodeName } from './message.ts';
export type { DnsMessage, Question } from './message.ts';
export { isSamePlain, plainRecord, recordDataOf, sameNames, type PlainRecord } from './plain-record.ts';
export { textOfStrings } from './text-strings.ts';
export { addRecord, deleteRecord, updateMessage, type Prerequisite } from './update.ts';
export { nameIsUnused, recordSetIs, recordSetIsAbsent } from './update.ts';
export { signatureError, signMessage, verifyMessage } from './tsig.ts';
export type { SignedMessage, TsigAlgorithm, TsigKey, TsigVerdict } from './tsig.ts';
export { recordValue, zoneEntry } from './zone-text.ts';
