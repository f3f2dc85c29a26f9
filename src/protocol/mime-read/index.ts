/**
 * Reads messages that others have composed (RFC 5322, MIME), as bytes that arrive in pieces: the unchanged fields of
 * the head, and the positions of the texts of the body. It decodes nothing, holds no body, and changes nothing.
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
