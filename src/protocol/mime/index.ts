/**
 * Writes messages (RFC 5322, MIME) and decides which headers a caller may add to them.
 * The same input always gives the same bytes; lines end in CRLF, stay below 998 octets and are never 8-bit in a body.
 * It never reads messages, and a line break that reaches a header here is our bug: callers refuse it first.
 */
export {
  composeMessage,
  layOutMessage,
  isComposite,
  type Attachment,
  type ComposedMessage,
  type MessageInput,
  type MessageLayout,
  contentIdFault,
  contentTypeFault,
  guessContentType,
  type Piece,
  type StoredContent,
} from './compose-message.ts';
export {
  headerFault,
  isReservedHeader,
  serializeHeaders,
  type HeaderField,
  formatDate,
  formatListId,
  receivedField,
  type Hop,
} from './header-field.ts';
export { base64Lines } from './base64-lines.ts';
export { encodeText, type EncodedBody } from './text-body.ts';
export { surveySevenBit } from './seven-bit.ts';
