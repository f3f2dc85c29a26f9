/**
 * Reads messages that others have composed (RFC 5322, MIME), as bytes that come piece by piece: the fields of the head
 * as they stand, and where the texts of the body begin and end. It decodes nothing, holds no body, and changes nothing.
 */
export { decodeText, transferDecoder, type TransferDecoder } from './decode-text.ts';
export { ContentCheck } from './content-check.ts';
export {
  readFields,
  type RawField,
  readStructured,
  type Structured,
  fileName,
  fileNameLine,
  oneLine,
  shortLine,
} from './header-fields.ts';
export { MimeScanner, type FilePart, type TextPart } from './mime-scanner.ts';
