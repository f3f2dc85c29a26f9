import { clientKey } from '../platform/network/index.ts';
import { SmtpReply } from './smtp-reply.ts';

/** Whether a port is open to the world, or only to programs that log in. */
export type PortKind = 'world' | 'submission';

export interface ConnectionLimits {
  /** Counts a new connection; throws the refusal of one too many. */
  enter(address: string, kind: PortKind): void;
  /** Counts a connection from ourselves, which uses up nothing of its address's limit. */
  enterOwn(kind: PortKind): void;
  /** `address` is undefined for a connection from ourselves. */
  leave(address: string | undefined, kind: PortKind): void;
  /** Whether so few connections are free that those held without need should be ended. */
  isShort(kind: PortKind): boolean;
  /** Notes that a connection was told to end: as its place will be free, no other has to end for it. */
  isGoing(kind: PortKind): void;
  /** Such a connection has ended. */
  isGone(kind: PortKind): void;
}

/** The part that each kind may use: strangers leave connections to our own programs, and those some to the world. */
const PART_OF_TOTAL = 3 / 4;
export const ofKindMax = (total: number): number => Math.ceil(total * PART_OF_TOTAL);
const PART_WITHOUT_NEED = 4 / 5;

/** One for all SMTP ports of the process. */
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
