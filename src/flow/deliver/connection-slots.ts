/** Somebody who wants to open connections, and can give up an idle one for somebody else. */
export interface SlotHolder {
  /** A slot may be free now. */
  grow(): void;
}

export interface ConnectionSlots {
  /** False when all are taken; the holder is told when to try again. */
  take(holder: SlotHolder): boolean;
  give(): void;
  /** Somebody waits for a slot: an idle connection does more good closed. */
  readonly isScarce: boolean;
}

/** All destinations share the connections of the process. Who found none free is served first come, first served. */
export function createConnectionSlots(countMax: number, closeIdle: () => void): ConnectionSlots {
  let taken = 0;
  const hungry = new Set<SlotHolder>();
  return {
    take(holder) {
      if (taken < countMax) {
        taken += 1;
        hungry.delete(holder);
        return true;
      }
      hungry.add(holder);
      closeIdle();
      return false;
    },
    give() {
      taken -= 1;
      for (const holder of hungry) {
        hungry.delete(holder);
        holder.grow();
        if (taken >= countMax) return;
      }
    },
    get isScarce() {
      return hungry.size > 0;
    },
  };
}
