import { clientKey } from '../platform/network/index.ts';
import { SmtpReply } from './smtp-reply.ts';

export interface ConnectionLimits {
  /** Counts a connection in; throws the reply for one too many. */
  enter(address: string): void;
  leave(address: string): void;
}

/** Shared by all SMTP ports of the process. */
export function createConnectionLimits(limits: { total: number; perAddress: number }): ConnectionLimits {
  const open = new Map<string, number>();
  let total = 0;
  return {
    enter(address) {
      const key = clientKey(address);
      const others = open.get(key) ?? 0;
      if (total >= limits.total) throw new SmtpReply(421, '4.3.2', 'Too many connections; try again in a minute');
      if (others >= limits.perAddress) {
        const say = `${limits.perAddress} connections from your address are open; use those, or end some`;
        throw new SmtpReply(421, '4.7.0', say);
      }
      open.set(key, others + 1);
      total++;
    },
    leave(address) {
      const key = clientKey(address);
      const left = (open.get(key) ?? 1) - 1;
      if (left > 0) open.set(key, left);
      else open.delete(key);
      total--;
    },
  };
}
