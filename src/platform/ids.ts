/**
 * Identifiers. A UUIDv7 contains its millisecond, and ids of one process never run backwards, so "newest first" is an
 * order of ids and a creation date is a range of ids. Ids are never secrets.
 */
import { randomBytes, randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';

export interface Ids {
  /** Returns a new UUIDv7 (RFC 9562 §5.7), larger than every earlier one of this process. */
  uuid(): string;
  /** Returns a new id with a prefix for its kind, e.g. `sup_0199…`; it sorts like the UUID that it contains. */
  prefixed(prefix: string): string;
  /** Returns that many random bytes as hexadecimal text, for names that must not collide. */
  hex(bytes: number): string;
}

const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => UUID_FORM.test(text);

export function createIds(clock: Clock): Ids {
  const pool = Buffer.alloc(8192);
  let randomHex = '';
  let used = pool.length;
  let lastMs = 0;
  let sequence = 0;
  /** The formatted time of `writtenMs`, cached because many ids share a millisecond under load. */
  let writtenMs = -1;
  let writtenTime = '';

  function uuid(): string {
    const now = clock.now();
    // If the clock steps back, new ids must still sort after those already issued.
    if (now > lastMs) {
      lastMs = now;
      sequence = 0;
    } else if (++sequence > 0xfff) {
      lastMs++;
      sequence = 0;
    }
    if (used + 8 > pool.length) {
      randomHex = randomFillSync(pool).toString('hex');
      used = 0;
    }
    if (writtenMs !== lastMs) {
      const time = lastMs.toString(16).padStart(12, '0');
      [writtenMs, writtenTime] = [lastMs, `${time.slice(0, 8)}-${time.slice(8)}-7`];
    }
    // Uses the half of this byte that is not among the digits below.
    const variant = '89ab'.charAt((pool[used] ?? 0) >> 6);
    const at = used * 2;
    used += 8;
    const counter = sequence.toString(16).padStart(3, '0');
    return `${writtenTime}${counter}-${variant}${randomHex.slice(at + 1, at + 4)}-${randomHex.slice(at + 4, at + 16)}`;
  }

  return {
    uuid,
    prefixed: (prefix) => prefix + uuid().replaceAll('-', ''),
    hex: (bytes) => randomBytes(bytes).toString('hex'),
  };
}

/**
 * Returns the smallest id that could be created at `ms`; every id created in that millisecond or later is at least as
 * large.
 */
export function firstIdAt(ms: number): string {
  const clamped = Math.min(Math.max(0, Math.trunc(ms)), 2 ** 48 - 1);
  const time = clamped.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

/**
 * Returns when the object with this new id was created. Date ranges are id ranges, so it is the time of the id, unless
 * the clock was set back since the process started: ids then run ahead of the clock, and a time that people or the
 * queue see must not.
 */
export const creationTime = (id: string, clock: Clock): number => Math.min(timeOfId(id), clock.now());

/**
 * Returns the millisecond in an id; after the clock was set back it may be in the future. For new objects, see
 * `creationTime`.
 */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
