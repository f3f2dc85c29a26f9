/**
 * Identifiers. A UUIDv7 carries its millisecond, and ids of one process never run backwards, so "newest first" is
 * an order of ids and a creation date is a range of ids. Ids are never secrets.
 */
import { randomBytes, randomFillSync } from 'node:crypto';
import type { Clock } from '../clock/index.ts';

export interface Ids {
  /** A new UUIDv7 (RFC 9562 §5.7), larger than every earlier one of this process. */
  uuid(): string;
  /** A new id with a family's prefix, e.g. `sup_0199…`; it sorts like the UUID behind it. */
  prefixed(prefix: string): string;
  /** That many random bytes as hexadecimal text, for names that must not meet. */
  hex(bytes: number): string;
}

const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => UUID_FORM.test(text);

export function createIds(clock: Clock): Ids {
  const pool = new Uint8Array(8192);
  let used = pool.length;
  let lastMs = 0;
  let sequence = 0;

  function uuid(): string {
    const now = clock.now();
    // A clock that steps back must not make ids that sort before those already given out.
    if (now > lastMs) {
      lastMs = now;
      sequence = 0;
    } else if (++sequence > 0xfff) {
      lastMs++;
      sequence = 0;
    }
    if (used + 8 > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const time = lastMs.toString(16).padStart(12, '0');
    const tail = randomPart(pool, used, 8, 0x80);
    used += 8;
    const counter = sequence.toString(16).padStart(3, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${tail.slice(0, 4)}-${tail.slice(4)}`;
  }

  return {
    uuid,
    prefixed: (prefix) => prefix + uuid().replaceAll('-', ''),
    hex: (bytes) => randomBytes(bytes).toString('hex'),
  };
}

/** The smallest id that could have been made at `ms`; every id made later or in that millisecond is not below it. */
export function firstIdAt(ms: number): string {
  const clamped = Math.min(Math.max(0, Math.trunc(ms)), 2 ** 48 - 1);
  const time = clamped.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

/** The millisecond an id was made in. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function randomPart(bytes: Uint8Array, from: number, count: number, variant: number): string {
  let text = HEX[((bytes[from] ?? 0) & 0x3f) | variant] ?? '';
  for (let i = 1; i < count; i++) text += HEX[bytes[from + i] ?? 0];
  return text;
}
