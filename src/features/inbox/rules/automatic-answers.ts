import type { MachineSign } from '../../../protocol/automatic-mail.ts';
import type { IncomingMail } from './which-thread.ts';
import { normalizeAddress, parseMailbox } from '../../../protocol/address/index.ts';

/** An email of a thread, in chronological order. */
export interface Passed {
  direction: 'inbound' | 'outbound';
  at: number;
  /** Mailboxes as they are shown. */
  to: readonly string[];
}

/** Limits of rounds with one address; above them, programs may not reply to it for a while. */
const LIMITS = [
  { rounds: 10, ms: 3_600_000, words: 'an hour' },
  { rounds: 30, ms: 86_400_000, words: 'a day' },
] as const;

export const LOOP_WINDOW_MS = Math.max(...LIMITS.map(({ ms }) => ms));

export interface AnswerLoop {
  address: string;
  /** Time from which programs may reply again. */
  until: number;
  rounds: number;
  /** Span of the limit: an hour or a day. */
  within: string;
}

/**
 * Detects a reply loop: two programs that do not declare themselves reply to each other forever, while people do not
 * write so often. A round is a reply to an address after something new was received. If several addresses are in a
 * loop, returns the one that waits the longest.
 */
export function findAnswerLoop(emails: readonly Passed[], now: number): AnswerLoop | undefined {
  let loop: AnswerLoop | undefined;
  for (const [address, times] of collectRounds(emails)) {
    for (const { rounds, ms, words } of LIMITS) {
      const within = times.filter((at) => at > now - ms);
      const oldest = within.at(-rounds);
      if (oldest === undefined || oldest + ms <= (loop?.until ?? 0)) continue;
      loop = { address, until: oldest + ms, rounds, within: words };
    }
  }
  return loop;
}

/** Returns the times of the replies, by address. */
function collectRounds(emails: readonly Passed[]): Map<string, number[]> {
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

/** Facts about a message that an inbox might reply to automatically. Addresses are normalized. */
export interface AutomaticAnswerAsk {
  mail: Pick<IncomingMail, 'proof' | 'ownAddresses'>;
  /** Recipient of the reply. */
  to: string;
  /** Addresses in To and Cc of the message. */
  named: readonly string[];
  signs: readonly MachineSign[];
  isSpam: boolean;
  /** Reports whether an address is an inbox of this installation: two of them never reply to each other. */
  isInboxHere: (address: string) => boolean;
  counts: AutomaticAnswerCounts;
  limits: { perSenderAndDay: number };
}

/** Counts of earlier automatic replies. */
export interface AutomaticAnswerCounts {
  /** Replies of all inboxes of the team to this sender within the last 24 hours. */
  toSenderOfDay: number;
  /** Replies of any inbox of the team to a message with this Message-ID, which may have been sent to two of them. */
  toMessage: number;
  /** Replies in the thread since a person last wrote in it for the inbox. */
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
 * Returns the reason that no automatic reply may be sent to this sender now; undefined if one may. The headers catch
 * machines that follow RFC 3834; the daily limit per sender catches the others.
 */
export function findNoAnswerReason(ask: AutomaticAnswerAsk): NoAutomaticAnswer | undefined {
  const { mail, to, named, signs, counts, limits } = ask;
  if (to === '') return 'no-sender';
  if (mail.ownAddresses.has(to) || ask.isInboxHere(to)) return 'own-inbox';
  if (signs[0] !== undefined) return signs[0];
  if (ask.isSpam) return 'spam';
  if (mail.proof === 'forged') return 'forged-sender';
  // RFC 3834 §2: an inbox that received it as a blind copy, or by a forwarding that is not known here, was not
  // addressed.
  if (!named.some((address) => mail.ownAddresses.has(address))) return 'not-addressed';
  if (counts.toMessage > 0) return 'answered';
  if (counts.inThread > 0) return 'answered-thread';
  return counts.toSenderOfDay >= limits.perSenderAndDay ? 'limit' : undefined;
}
