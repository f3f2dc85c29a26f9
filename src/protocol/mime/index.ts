/**
 * Writes messages (RFC 5322, MIME) and says which headers a caller may add to them.
 * The same input always gives the same bytes; lines end in CRLF, stay below 998 octets and are never 8-bit in a body.
 * It never reads messages, and a line break that reaches a header here is our defect: callers refuse it first.
 */
export { composeMessage, layOutMessage } from './compose-message.ts';
export { isComposite } from './body-part.ts';
export type { Attachment } from './body-part.ts';
export type { ComposedMessage, MessageInput, MessageLayout } from './compose-message.ts';
export { contentIdFault, contentTypeFault, guessContentType } from './content-type.ts';
export { headerFault, isReservedHeader } from './header-rules.ts';
export { serializeHeaders } from './header-field.ts';
export type { HeaderField } from './header-field.ts';
export { formatDate } from './date.ts';
export { formatListId } from './list-id.ts';
export { encodeText, type EncodedBody } from './text-body.ts';
export type { Piece, StoredContent } from './piece.ts';
export { surveySevenBit } from './seven-bit.ts';
export { receivedField, type Hop } from './received-field.ts';
