import { driver } from './database.ts';

const scale = Number(process.env['RASKET_TEST_SCALE'] ?? 1);
if (!Number.isInteger(scale) || scale < 1) {
  throw new Error(`RASKET_TEST_SCALE must be a whole number of at least 1; got ${process.env['RASKET_TEST_SCALE']}.`);
}

/** Returns how often a test repeats something: `count` times in `npm test`, and RASKET_TEST_SCALE times as often if that is set. */
export const scaled = (count: number): number => count * scale;

/**
 * Returns how many histories that follow the program's own rules a test tries. One takes four times as long on PostgreSQL,
 * where half as many are tried, but at least `count`.
 */
export const histories = (count: number): number =>
  driver === 'pg' ? Math.max(count, Math.ceil(scaled(count) / 2)) : scaled(count);
