import { createHash } from 'node:crypto';
import type { Ids } from '../../src/platform/ids/index.ts';

export interface Dice {
  /** From 0 up to 1. */
  roll(): number;
  pick<T>(list: readonly T[]): T;
  hex(digits: number): string;
}

/** The same numbers for the same seed, for ever: a stream of hashes. */
export function createDice(seed: string): Dice {
  let [left, turn] = ['', 0];
  function hex(digits: number): string {
    while (left.length < digits) left += createHash('sha256').update(`${seed} ${turn++}`).digest('hex');
    const taken = left.slice(0, digits);
    left = left.slice(digits);
    return taken;
  }
  const roll = (): number => Number.parseInt(hex(8), 16) / 2 ** 32;
  return {
    hex,
    roll,
    pick<T>(list: readonly T[]): T {
      const picked = list[Math.floor(roll() * list.length)];
      if (picked === undefined) throw new Error('there is nothing to pick from');
      return picked;
    },
  };
}

/** Ids that come out alike whenever the same is seeded, so that what is there already is recognised. */
export function createSeededIds(dice: Dice, now: () => number): Ids {
  const time = (): string => now().toString(16).padStart(12, '0');
  const uuid = (): string => {
    const at = time();
    return `${at.slice(0, 8)}-${at.slice(8)}-7${dice.hex(3)}-${dice.pick(['8', '9', 'a', 'b'])}${dice.hex(3)}-${dice.hex(12)}`;
  };
  return { uuid, prefixed: (prefix) => `${prefix}${uuid().replaceAll('-', '')}`, hex: (bytes) => dice.hex(bytes * 2) };
}
