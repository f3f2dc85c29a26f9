import type { MessageReading } from '../read-message/index.ts';
import { isServersNotice } from './servers-notice.ts';

const SUBJECTS =
  /^\s*(?:auto(?:matic(?:ally)?)?[ -:]*(?:re(?:ply|sponse|plied)|generated reply|réponse)|autoreply|out of (?:the )?office|on vacation|vacation|away from|abwesen|absence|réponse automatique|respuesta automática|risposta automatica|automatische antwort|i am (?:away|out)|please (?:confirm|verify)|confirm your (?:message|email|e-mail)|challenge|sender verification|your (?:message|email) (?:requires|needs) (?:confirmation|verification)|thank you for (?:your|contacting)|\[?ticket\b|we(?:'ve| have) received your|read:|gelesen:|lu ?:|not read:|recall:|re:|aw:|fwd?:|wg:)/i;

/** Answers that a person or a person's machine gives (RFC 3834 §2), whatever stands in them. */
export function isAutomaticAnswer(reading: Extract<MessageReading, { isRead: true }>): boolean {
  const { headers, subject } = reading;
  const submitted = (headers['auto-submitted'] ?? '').trim().toLowerCase();
  // Exim, Postfix and Gmail call their notices auto-replied as well.
  const isAnswer = submitted.startsWith('auto-replied') || submitted.startsWith('auto-notified');
  if (isAnswer && !isServersNotice(reading)) return true;
  if (ANSWER_HEADERS.some((name) => headers[name] !== undefined)) return true;
  if (/^(?:auto_reply|list)$/i.test((headers['precedence'] ?? '').trim())) return true;
  return SUBJECTS.test(subject);
}

/** A message with one of them was written by a program, or came by a mailing list. */
export const ANSWER_HEADERS = [
  'x-autoreply',
  'x-autorespond',
  'x-autoresponder',
  'x-auto-reply-from',
  'x-mail-autoreply',
  'x-vacation',
  'x-challenge',
  'list-id',
];
