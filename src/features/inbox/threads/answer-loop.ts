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
