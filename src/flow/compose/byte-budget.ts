/** Bounds what many composed messages hold in memory together; one larger than the budget is let through alone. */
export interface ByteBudget {
  take(bytes: number): Promise<void>;
  give(bytes: number): void;
}

export function createByteBudget(bytesMax: number): ByteBudget {
  let used = 0;
  const waiting: { bytes: number; go(): void }[] = [];
  const fits = (bytes: number): boolean => used === 0 || used + bytes <= bytesMax;
  return {
    async take(bytes) {
      if (waiting.length === 0 && fits(bytes)) used += bytes;
      else await new Promise<void>((go) => waiting.push({ bytes, go }));
    },
    give(bytes) {
      used -= bytes;
      // First come, first served: a large message is not overtaken for ever by small ones.
      for (let next = waiting[0]; next && fits(next.bytes); next = waiting[0]) {
        waiting.shift();
        used += next.bytes;
        next.go();
      }
    },
  };
}
