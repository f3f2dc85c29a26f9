import { clientKey } from '../platform/network/index.ts';
import { SmtpReply } from './smtp-reply.ts';

/** Whether anybody calls at a port, or only programs that log in. */
export type PortKind = 'world' | 'submission';

export interface ConnectionLimits {
  /** Counts a connection in; throws the reply for one too many. */
  enter(address: string, kind: PortKind): void;
  /** One of ours, which takes no place of others at its address. */
  enterOwn(kind: PortKind): void;
  /** `address` is absent for one of ours. */
  leave(address: string | undefined, kind: PortKind): void;
  /** Whether so few places are left that those who take theirs without need should go. */
  isShort(kind: PortKind): boolean;
  /** One that is counted in was told to go: its place will be free, and no other has to go for it. */
  isGoing(kind: PortKind): void;
  /** It has gone. */
  isGone(kind: PortKind): void;
}

/** Of either kind; so that strangers who hold connections leave some to our own programs, and those some to the world. */
const PART_OF_TOTAL = 3 / 4;
export const ofKindMax = (total: number): number => Math.ceil(total * PART_OF_TOTAL);
const PART_WITHOUT_NEED = 4 / 5;

/** Shared by all SMTP ports of the process. */
export function createConnectionLimits(limits: { total: number; perAddress: number }): ConnectionLimits {
  const open = new Map<string, number>();
  const totals = { world: 0, submission: 0 };
  const going = { world: 0, submission: 0 };
  const kindMax = ofKindMax(limits.total);
  function enterOwn(kind: PortKind): void {
    const isFull = totals.world + totals.submission >= limits.total || totals[kind] >= kindMax;
    if (isFull) throw new SmtpReply(421, '4.3.2', 'Too many connections; try again in a minute');
    totals[kind]++;
  }
  const staying = (kind: PortKind): number => totals[kind] - going[kind];
  return {
    enterOwn,
    isShort: (kind) =>
      staying(kind) > kindMax * PART_WITHOUT_NEED ||
      staying('world') + staying('submission') > limits.total * PART_WITHOUT_NEED,
    isGoing: (kind) => void going[kind]++,
    isGone: (kind) => void going[kind]--,
    enter(address, kind) {
      const key = clientKey(address);
      const others = open.get(key) ?? 0;
      enterOwn(kind);
      if (others >= limits.perAddress) {
        const say = `${limits.perAddress} connections from your address are open; use those, or end some`;
        totals[kind]--;
        throw new SmtpReply(421, '4.7.0', say);
      }
      open.set(key, others + 1);
    },
    leave(address, kind) {
      totals[kind]--;
      if (address === undefined) return;
      const key = clientKey(address);
      const left = (open.get(key) ?? 1) - 1;
      if (left > 0) open.set(key, left);
      else open.delete(key);
    },
  };
}
