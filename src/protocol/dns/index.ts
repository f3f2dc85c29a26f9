/**
 * DNS messages as bytes (RFC 1035): questions, answers, updates (RFC 2136) and their signatures (RFC 8945), and records as
 * the text of a zone file. Whatever bytes come in, reading them ends soon and either gives a message or throws a
 * DnsFormatError. It never sends or asks anything, and never knows the time unless it is told.
 */
export {
  DnsFormatError,
  canonicalName,
  canonicalOfRead,
  isWithin,
  isWithinCanonical,
  nameFromBytes,
  nameLabels,
} from './wire.ts';
export {
  CLASSES,
  RECORD_TYPES,
  typeName,
  typeNumber,
  type RecordTypeName,
  type DnsRecord,
  type RecordData,
  isSamePlain,
  plainRecord,
  recordDataOf,
  sameNames,
  type PlainRecord,
  textOfStrings,
  recordValue,
  zoneEntry,
} from './record.ts';
export {
  decodeMessage,
  encodeMessage,
  OPCODES,
  questionMessage,
  RCODES,
  rcodeName,
  type DnsMessage,
  type Question,
  addRecord,
  deleteRecord,
  updateMessage,
  type Prerequisite,
  nameIsUnused,
  recordSetIs,
  recordSetIsAbsent,
} from './message.ts';
export { signatureError, signMessage, verifyMessage } from './tsig.ts';
export type { SignedMessage, TsigAlgorithm, TsigKey, TsigVerdict } from './tsig.ts';
