/**
 * DNS messages as bytes (RFC 1035): questions, answers, updates (RFC 2136) and their signatures (RFC 8945), and records
 * in zone file syntax. Reading any bytes ends soon and either returns a message or throws a DnsFormatError. This
 * package does no network I/O and reads no clock; callers pass the time.
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
  type TlsaRecord,
  isSamePlain,
  plainRecord,
  toRecordData,
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
  type QuestionOptions,
  addRecord,
  deleteRecord,
  updateMessage,
  type Prerequisite,
  nameIsUnused,
  recordSetIs,
  recordSetIsAbsent,
} from './message.ts';
export { signatureError, signMessage, verifyMessage } from './tsig.ts';
export type { SignedMessage, TsigAlgorithm, TsigKey, TsigResult } from './tsig.ts';
