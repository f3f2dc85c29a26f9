// The source of randomness of tests: one seed per process, which every failure prints and RASKET_TEST_SEED sets.
import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { onTestFailed } from 'vitest';
import { scaled } from './scale.ts';

const given = process.env['RASKET_TEST_SEED'];
const seed = given === undefined ? randomInt(2 ** 31) : Number(given);
if (!Number.isInteger(seed)) throw new Error(`RASKET_TEST_SEED must be a whole number; got ${given}.`);

const again = `The same values once more: RASKET_TEST_SEED=${seed}`;

/** Every property of fast-check starts with the seed as well, and runs as often as the scale says. */
fc.configureGlobal({
  seed,
  numRuns: scaled(100),
  reporter(run) {
    if (run.failed) throw new Error(`${fc.defaultReportMessage(run)}\n${again}`, { cause: run.errorInstance });
  },
});

/** Returns the seed, for a test that makes its own random values; it is printed if the test fails. */
export function testSeed(): number {
  onTestFailed(() => console.error(again));
  return seed;
}

/** Returns numbers from 0 up to, but not including, 1; the same sequence for the same seed (mulberry32). */
export function dice(of: number): () => number {
  let state = of >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
