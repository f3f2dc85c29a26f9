import type { Clock } from '../../platform/clock/index.ts';
import { clientKey } from '../../platform/network/index.ts';
import { SmtpReply } from './smtp-reply.ts';

export interface FailedLogins {
  /** Throws the refusal of an address with too many failed logins. */
  mayTry(address: string): void;
  /** Counts a failure and resolves when it may be answered: later with each failure. */
  note(address: string): Promise<void>;
}

const WINDOW_MS = 600_000;
const DELAY_MS_MAX = 8000;
const ADDRESSES_MAX = 50_000;

/** Slows down guessing of keys, by address, and in the end refuses the address for a while. */
export function createFailedLogins(clock: Clock, max: number): FailedLogins {
  const failures = new Map<string, { count: number; since: number }>();
  const recent = (address: string): { count: number; since: number } => {
    const known = failures.get(clientKey(address));
    const now = clock.now();
    return known && now - known.since < WINDOW_MS ? known : { count: 0, since: now };
  };
  return {
    mayTry(address) {
      const { count, since } = recent(address);
      if (count < max) return;
      const minutes = Math.max(1, Math.ceil((since + WINDOW_MS - clock.now()) / 60_000));
      throw new SmtpReply(421, '4.7.0', `Too many failed logins from your address; try again in ${minutes} minutes`);
    },
    note(address) {
      const { count, since } = recent(address);
      const key = clientKey(address);
      if (!failures.has(key) && failures.size >= ADDRESSES_MAX) {
        const [oldest] = failures.keys();
        if (oldest !== undefined) failures.delete(oldest);
      }
      failures.set(key, { count: count + 1, since });
      // The first failure is taken for a slip, and answered at once.
      if (count === 0) return Promise.resolve();
      return new Promise((answer) => void clock.timer(Math.min(1000 * 2 ** (count - 1), DELAY_MS_MAX), answer));
    },
  };
}
