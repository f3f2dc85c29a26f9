import { normalizeAddress, parseMailbox } from './address/index.ts';
import { ANSWER_HEADERS } from './mail-report.ts';
import type { MessageReading } from './read-message/index.ts';
import { readSubject } from './reply-message/index.ts';

/**
 * What speaks against answering a message by a machine. `auto-submitted`, `answer-header`, `null-sender` and `subject`: a
 * machine wrote it; `bulk`, `list`: it went to many; `suppressed`: it asks not to be answered; `no-reply`: nobody reads
 * answers; `loop`: it was here before.
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

/** Of lists (RFC 2369, RFC 2919). Feedback-ID is none: services add it to all mail, also to what a person writes. */
const LIST_HEADERS = ['list-id', 'list-post', 'list-unsubscribe', 'list-help', 'mailing-list'];
const BULK = /^(?:bulk|junk|list|auto_reply)$/i;
/** [MS-OXCMAIL] 2.2.3.2.14: `DR`, `NDR`, `RN` and `NRN` are about reports alone. */
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

/** `mailFrom` is the envelope sender, empty for what must not be answered; `ownAddresses` are normalised. */
export function machineSigns(
  reading: MessageReading,
  { mailFrom, ownAddresses }: { mailFrom: string; ownAddresses: ReadonlySet<string> },
): MachineSign[] {
  const headers = reading.isRead ? reading.headers : {};
  const valueOf = (name: string): string => (headers[name] ?? '').slice(0, 1000).trim();
  const submitted = valueOf('auto-submitted').toLowerCase();
  const answeredAt = [mailFrom, reading.from, ...reading.replyTo];
  const signs: Record<MachineSign, boolean> = {
    'auto-submitted': submitted !== '' && !/^no(?:$|[\s;(])/.test(submitted),
    'answer-header': ANSWER_HEADERS.some((name) => name !== 'list-id' && headers[name] !== undefined),
    'null-sender': mailFrom === '' || mailFrom === '<>',
    subject: readSubject(reading.subject).isAutomatic,
    bulk: BULK.test(valueOf('precedence')),
    list: LIST_HEADERS.some((name) => headers[name] !== undefined),
    suppressed: SUPPRESSED.test(valueOf('x-auto-response-suppress')),
    'no-reply': answeredAt.some((address) => isNoReply(address)),
    loop: valueOf('x-loop')
      .split(/[\s,<>]+/)
      .some((address) => ownAddresses.has(normalizeAddress(address))),
  };
  return (Object.keys(signs) as MachineSign[]).filter((sign) => signs[sign]);
}

/** What a person sends by a list, or from an address that takes no answers, is none. */
export const isWrittenByMachine = (signs: readonly MachineSign[]): boolean =>
  signs.some((sign) => WRITTEN_BY_MACHINE.has(sign));

/** Whether an address says of itself that mail to it is not read, in some of the languages in which they do. */
export function isNoReply(written: string): boolean {
  const parsed = parseMailbox(written, { allowSingleLabel: true });
  return parsed.ok && NO_REPLY_LOCAL.test(parsed.mailbox.local);
}

/** What an automatic answer of ours says of itself (RFC 3834 §3.1.7), so that no machine answers it; `from` is its inbox. */
export const headersOfAutomaticAnswer = (from: string): [name: string, value: string][] => [
  ['Auto-Submitted', 'auto-replied'],
  ['X-Auto-Response-Suppress', 'All'],
  ['X-Loop', from],
];
