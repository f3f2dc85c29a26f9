import type { MachineSign } from '../../../protocol/automatic-mail/index.ts';
import type { IncomingMail } from './incoming-mail.ts';

/** What an inbox that answers by itself knows of a message that it might answer. Addresses are normalised. */
export interface AutomaticAnswerAsk {
  mail: Pick<IncomingMail, 'proof' | 'ownAddresses'>;
  /** To whom the answer would go. */
  to: string;
  /** The addresses that the message names in To and Cc. */
  named: readonly string[];
  signs: readonly MachineSign[];
  isSpam: boolean;
  /** Of every inbox of this installation: two of them never talk to each other. */
  isInboxHere: (address: string) => boolean;
  counts: AutomaticAnswerCounts;
  limits: { perSenderAndDay: number };
}

/** What was answered automatically before. */
export interface AutomaticAnswerCounts {
  /** By all inboxes of the team, to this sender within the last 24 hours. */
  toSenderOfDay: number;
  /** By any inbox of the team, to a message with this Message-ID: one that was sent to two of them. */
  toMessage: number;
  /** In the thread since a person last wrote in it for the inbox. */
  inThread: number;
}

export type NoAutomaticAnswer =
  | MachineSign
  | 'no-sender'
  | 'own-inbox'
  | 'spam'
  | 'forged-sender'
  | 'not-addressed'
  | 'answered'
  | 'answered-thread'
  | 'limit';

/**
 * Why no automatic answer goes to this sender now; undefined where one may. The headers catch machines that know RFC 3834;
 * the limit of a sender and day those that do not.
 */
export function whyNoAutomaticAnswer(ask: AutomaticAnswerAsk): NoAutomaticAnswer | undefined {
  const { mail, to, named, signs, counts, limits } = ask;
  if (to === '') return 'no-sender';
  if (mail.ownAddresses.has(to) || ask.isInboxHere(to)) return 'own-inbox';
  if (signs[0] !== undefined) return signs[0];
  if (ask.isSpam) return 'spam';
  if (mail.proof === 'forged') return 'forged-sender';
  // RFC 3834 §2: an inbox that got it as a hidden copy, or by a forwarding that is not known here, was not asked.
  if (!named.some((address) => mail.ownAddresses.has(address))) return 'not-addressed';
  if (counts.toMessage > 0) return 'answered';
  if (counts.inThread > 0) return 'answered-thread';
  return counts.toSenderOfDay >= limits.perSenderAndDay ? 'limit' : undefined;
}
