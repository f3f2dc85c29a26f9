import { normalizeAddress, parseMailbox } from './address/index.ts';
import { ANSWER_HEADERS } from './mail-report.ts';
import type { MessageReading } from './read-message/index.ts';
import { readSubject } from './reply-message/index.ts';

/**
 * Reasons not to reply to a message automatically. `auto-submitted`, `answer-header`, `null-sender` and `subject`: a
 * machine wrote it; `bulk`, `list`: it was sent to many; `suppressed`: it asks for no automatic replies; `no-reply`:
 * nobody reads replies; `loop`: it has passed through here before.
 */
export type MachineSign =
  | 'auto-submitted'
  | 'answer-header'
  | 'null-sender'
  | 'subject'
  | 'bulk'
  | 'list'
  | 'suppressed'
  | 'no-reply'
  | 'loop';

const WRITTEN_BY_MACHINE: ReadonlySet<MachineSign> = new Set([
  'auto-submitted',
  'answer-header',
  'null-sender',
  'subject',
]);

/**
 * Headers of mailing lists (RFC 2369, RFC 2919). Feedback-ID is not one: services add it to all mail, including mail
 * that a person writes.
 */
const LIST_HEADERS = ['list-id', 'list-post', 'list-unsubscribe', 'list-help', 'mailing-list'];
const BULK = /^(?:bulk|junk|list|auto_reply)$/i;
/** [MS-OXCMAIL] 2.2.3.2.14: `DR`, `NDR`, `RN` and `NRN` suppress reports only. */
const SUPPRESSED = /\b(?:all|oof|autoreply)\b/i;
const NO_REPLY = [
  String.raw`no[._-]?(?:reply|replies|answer|response|responder|contestar|rispondere)`,
  String.raw`(?:do|please)?[._-]?(?:not|dont)[._-]?(?:reply|respond|answer)`,
  String.raw`ne[._-]?pas[._-]?repondre|(?:nicht|keine)[._-]?antwort(?:en)?|non[._-]?rispondere`,
  String.raw`n[aã]o[._-]?respond[ae]r?|niet[._-]?(?:be)?antwoorden|(?:ej|inte)[._-]?svara|svara[._-]?(?:ej|inte)|ikke[._-]?svar`,
  String.raw`nie[._-]?odpowiadaj|neodpovidejte|ei[._-]?vastausta`,
  String.raw`mailer[._-]?daemon|mail[._-]?daemon|mdaemon|postmaster|bounces?|auto[._-]?(?:reply|responder|confirm)|nobody|robot`,
].join('|');
const NO_REPLY_LOCAL = new RegExp(String.raw`(?:^|[._+-])(?:${NO_REPLY})(?:$|[._+=\d-])`, 'iu');

/**
 * Lists the reasons not to reply to a message automatically. `mailFrom` is the envelope sender, empty for a
 * message that must not be replied to; `ownAddresses` are normalized.
 */
export function machineSigns(
  reading: MessageReading,
  { mailFrom, ownAddresses }: { mailFrom: string; ownAddresses: ReadonlySet<string> },
): MachineSign[] {
  const headers = reading.isRead ? reading.headers : {};
  const readValue = (name: string): string => (headers[name] ?? '').slice(0, 1000).trim();
  const submitted = readValue('auto-submitted').toLowerCase();
  const answeredAt = [mailFrom, reading.from, ...reading.replyTo];
  const signs: Record<MachineSign, boolean> = {
    'auto-submitted': submitted !== '' && !/^no(?:$|[\s;(])/.test(submitted),
    'answer-header': ANSWER_HEADERS.some((name) => name !== 'list-id' && headers[name] !== undefined),
    'null-sender': mailFrom === '' || mailFrom === '<>',
    subject: readSubject(reading.subject).isAutomatic,
    bulk: BULK.test(readValue('precedence')),
    list: LIST_HEADERS.some((name) => headers[name] !== undefined),
    suppressed: SUPPRESSED.test(readValue('x-auto-response-suppress')),
    'no-reply': answeredAt.some((address) => isNoReply(address)),
    loop: readValue('x-loop')
      .split(/[\s,<>]+/)
      .some((address) => ownAddresses.has(normalizeAddress(address))),
  };
  return (Object.keys(signs) as MachineSign[]).filter((sign) => signs[sign]);
}

/**
 * Reports whether a machine wrote the message. Mail that a person sends through a list, or from a no-reply address,
 * does not count.
 */
export const isWrittenByMachine = (signs: readonly MachineSign[]): boolean =>
  signs.some((sign) => WRITTEN_BY_MACHINE.has(sign));

/**
 * Reports whether a machine wrote the message or sent it to many, such as a newsletter. Mail of a list to which people
 * write (List-Post with an address) does not count: it may be a question that reached the inbox through a group.
 */
export function isFromMachine(signs: readonly MachineSign[], reading: MessageReading): boolean {
  const listPost = reading.isRead ? (reading.headers['list-post'] ?? '') : '';
  const isDiscussion = listPost.slice(0, 1000).includes('@');
  return isWrittenByMachine(signs) || (!isDiscussion && signs.some((sign) => sign === 'list' || sign === 'bulk'));
}

/** Reports whether the local part says, in one of several languages, that nobody reads mail to the address. */
export function isNoReply(written: string): boolean {
  const parsed = parseMailbox(written, { allowSingleLabel: true });
  return parsed.ok && NO_REPLY_LOCAL.test(parsed.mailbox.local);
}

/**
 * Returns the headers that mark an automatic reply of ours (RFC 3834 §3.1.7), so that no machine replies to it; `from`
 * is its inbox.
 */
export const headersOfAutomaticAnswer = (from: string): [name: string, value: string][] => [
  ['Auto-Submitted', 'auto-replied'],
  ['X-Auto-Response-Suppress', 'All'],
  ['X-Loop', from],
];
