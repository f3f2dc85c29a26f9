import type { MachineSign } from '../../../protocol/automatic-mail.ts';
import type { IncomingMail } from './which-thread.ts';
import { normalizeAddress, parseMailbox } from '../../../protocol/address/index.ts';

/** An email of a thread, in the order in which they came and went. */
export interface Passed {
  direction: 'inbound' | 'outbound';
  at: number;
  /** Mailboxes as they are shown. */
  to: readonly string[];
}

/** An address that was answered so often, each time to new mail, is answered by no program for a while. */
const LIMITS = [
  { rounds: 10, ms: 3_600_000, words: 'an hour' },
  { rounds: 30, ms: 86_400_000, words: 'a day' },
] as const;

export const LOOP_WINDOW_MS = Math.max(...LIMITS.map(({ ms }) => ms));

export interface AnswerLoop {
  address: string;
  /** When programs may answer again. */
  until: number;
  rounds: number;
  /** Within what: an hour, a day. */
  within: string;
}

/**
 * Two programs of which neither says that it is one answer each other for ever; people do not write so often. A round is an answer
 * that goes to an address after something new was received. Of several addresses, the one that waits the longest.
 */
export function answerLoopOf(emails: readonly Passed[], now: number): AnswerLoop | undefined {
  let loop: AnswerLoop | undefined;
  for (const [address, times] of roundsOf(emails)) {
    for (const { rounds, ms, words } of LIMITS) {
      const within = times.filter((at) => at > now - ms);
      const oldest = within.at(-rounds);
      if (oldest === undefined || oldest + ms <= (loop?.until ?? 0)) continue;
      loop = { address, until: oldest + ms, rounds, within: words };
    }
  }
  return loop;
}

/** By address, when it was answered. */
function roundsOf(emails: readonly Passed[]): Map<string, number[]> {
  const times = new Map<string, number[]>();
  let answered = new Set<string>();
  let isAsked = false;
  for (const { direction, at, to } of emails) {
    if (direction === 'inbound') {
      isAsked = true;
      answered = new Set();
      continue;
    }
    if (!isAsked) continue;
    for (const address of to.flatMap(addressIn)) {
      if (answered.has(address)) continue;
      answered.add(address);
      times.set(address, [...(times.get(address) ?? []), at]);
    }
  }
  return times;
}

function addressIn(written: string): string[] {
  const parsed = parseMailbox(written, { allowSingleLabel: true });
  return parsed.ok ? [normalizeAddress(parsed.mailbox.address)] : [];
}

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
