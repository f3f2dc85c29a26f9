import { nextTurn } from '../../platform/clock/index.ts';
import type { ClaimedDelivery } from './rules.ts';

export interface HeldAgain {
  /** What may begin: all but what is being carried here already. */
  without(claimed: ClaimedDelivery[]): Promise<ClaimedDelivery[]>;
  /** Once nothing is carried any more: what was claimed and never begun. */
  giveBack(): Promise<void>;
}

/**
 * Another node may take over what is being carried here, and lose it to us again, as the same attempt: the item that carries it holds
 * it again, and a second one would send it too.
 */
export function createHeldAgain(options: {
  carried(): readonly { delivery: ClaimedDelivery }[];
  unclaimAllBut(deliveryIds: string[]): Promise<unknown>;
}): HeldAgain {
  let wereSome = false;
  const isCarried = ({ row }: ClaimedDelivery): boolean =>
    options.carried().some(({ delivery: { row: its } }) => its.id === row.id && its.attempt === row.attempt);
  return {
    async without(claimed) {
      if (!claimed.some(isCarried)) return claimed;
      // One that was interrupted and has just been given back to the queue, to be claimed again at once, leaves before the next turn.
      await nextTurn();
      const again = claimed.filter(isCarried);
      wereSome ||= again.length > 0;
      return claimed.filter((one) => !again.includes(one));
    },
    async giveBack() {
      if (wereSome) await options.unclaimAllBut([]);
    },
  };
}
