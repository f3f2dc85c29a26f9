/**
 * Parses a message as received (RFC 5322, MIME): its sender and recipients, its texts, its parts. It always ends, with
 * a reading or with the reason why there is none, and every text of a reading can be stored: it has no NUL and no lone
 * surrogate.
 */
export { listSigners, textOfHtml, type Signer } from './message-text.ts';
export {
  readMessage,
  type MessageHead,
  type MessagePart,
  type MessageReading,
  type ReadLimits,
} from './read-message.ts';
