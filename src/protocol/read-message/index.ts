/**
 * Reads a message as it came (RFC 5322, MIME): who wrote it to whom, its texts, its parts. It promises to end, with a
 * reading or with the reason why there is none, and that every text of a reading can be stored: no NUL, no half of a pair.
 */
export { signersOf, textOfHtml, type Signer } from './message-text.ts';
export {
  readMessage,
  type MessageHead,
  type MessagePart,
  type MessageReading,
  type ReadLimits,
} from './read-message.ts';
