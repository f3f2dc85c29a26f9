import type { HeaderField } from '../mime/index.ts';
import { shortLine } from '../mime-read/index.ts';
import { SUBJECT_PREFIXES } from './base-subject.ts';
import { messageIdsIn } from './message-ids.ts';
import { childThreadIndex, readThreadIndex } from './thread-index.ts';

/** Of a received message; the headers by name in lower case. */
export interface AnsweredMessage {
  /** With or without its brackets; null where it has none. */
  messageId: string | null;
  headers: Readonly<Record<string, string>>;
  subject: string;
}

/** One line of a header (RFC 5322 §2.1.1), as callers may set it. */
const REFERENCES_BYTES_MAX = 900;
const IN_REPLY_TO_BYTES_MAX = 700;
const SUBJECT_BYTES_MAX = 800;
const TOPIC_BYTES_MAX = 300;
const PARENT_REFERENCES = { first: 5, last: 30 };
/** An id beyond ASCII would be encoded, and then is none. */
const WRITABLE = /^[!-;=?-~]+$/;

/**
 * What ties an answer to the message that it answers: In-Reply-To and References (RFC 5322 §3.6.4), and for Outlook its
 * Thread-Index and Thread-Topic, where the message has them.
 */
export function replyFields(
  answered: AnsweredMessage,
  { now, random }: { now: number; random: number },
): HeaderField[] {
  const [messageId] = messageIdsIn(answered.messageId ?? '', { first: 1, last: 0 }).filter(isWritable);
  const fields: HeaderField[] = [];
  if (messageId !== undefined) {
    fields.push(['In-Reply-To', `<${messageId}>`], ['References', referencesOf(answered, messageId)]);
  }
  const index = readThreadIndex(answered.headers['thread-index'] ?? '');
  if (!index) return fields;
  const topic = shortLine(answered.headers['thread-topic'] ?? '', TOPIC_BYTES_MAX);
  fields.push(['Thread-Index', childThreadIndex(index, { now, random })]);
  if (topic !== '') fields.push(['Thread-Topic', topic]);
  return fields;
}

const isWritable = (id: string): boolean => WRITABLE.test(id) && id.length <= IN_REPLY_TO_BYTES_MAX;

/** The first id, where the conversation began, and as many of the last as one line takes. */
function referencesOf({ headers }: AnsweredMessage, messageId: string): string {
  const named = messageIdsIn(headers['references'] ?? '', PARENT_REFERENCES);
  const answered = messageIdsIn(headers['in-reply-to'] ?? '', { first: 2, last: 0 });
  // RFC 5322 §3.6.4: without References, In-Reply-To stands in for it, if it names one message.
  const before = (named.length > 0 ? named : answered.length === 1 ? answered : []).filter(
    (id) => isWritable(id) && id !== messageId,
  );
  const written = [`<${messageId}>`];
  let bytes = written[0]!.length;
  const takes = (id: string | undefined): boolean => {
    if (id === undefined || bytes + id.length + 3 > REFERENCES_BYTES_MAX) return false;
    bytes += id.length + 3;
    return true;
  };
  const [first, ...later] = before;
  const hasFirst = takes(first);
  while (takes(later.at(-1))) written.unshift(`<${later.pop()}>`);
  return [...(hasFirst ? [`<${first}>`] : []), ...written].join(' ');
}

/** `Re:` once, in whatever language it was answered before; `Fwd:` behind it stays, for it says what is answered. */
export const replySubject = (subject: string): string =>
  shortLine(`Re: ${withoutPrefixes(subject, [SUBJECT_PREFIXES.automatic, SUBJECT_PREFIXES.reply])}`, SUBJECT_BYTES_MAX);

/** `Fwd:` once, and no `Re:`: to whom it goes it answers nothing. */
export const forwardSubject = (subject: string): string =>
  shortLine(`Fwd: ${withoutPrefixes(subject, Object.values(SUBJECT_PREFIXES))}`, SUBJECT_BYTES_MAX);

function withoutPrefixes(subject: string, prefixes: readonly RegExp[]): string {
  let rest = shortLine(subject, SUBJECT_BYTES_MAX);
  for (let length = -1; rest.length !== length;) {
    length = rest.length;
    for (const prefix of prefixes) rest = rest.replace(prefix, '').trimStart();
  }
  return rest;
}
