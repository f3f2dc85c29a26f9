import type { Lookup } from './answers.ts';
import { weigh } from './weigh.ts';

export interface LookUpCacheOptions {
  now: () => number;
  /** Of all keys and answers together. */
  bytesMax: number;
}

const POSITIVE_MS = 60_000;
const NEGATIVE_MS = 30_000;
const POSITIVE_MS_MAX = 300_000;
/** Answers that people publish have some hundred bytes; what is larger than this is cheaper asked again than kept. */
const ENTRY_BYTES_MAX = 16 * 1024;
/** How often everything that has expired is dropped. */
const TIDY_MS = 30_000;

interface Entry {
  answer: Lookup<unknown>;
  until: number;
  bytes: number;
}

export interface LookUpCache {
  readonly bytes: number;
  get(key: string): Lookup<unknown> | undefined;
  put(key: string, answer: Lookup<unknown>): void;
  clear(): void;
}

/** Failures are not kept: a caller that asks again wants to know whether the name server has recovered. */
export function createLookUpCache({ now, bytesMax }: LookUpCacheOptions): LookUpCache {
  const entries = new Map<string, Entry>();
  let bytes = 0;
  let tidyAt = 0;
  const drop = (key: string): void => {
    bytes -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  };
  const tidy = (): void => {
    if (now() < tidyAt) return;
    tidyAt = now() + TIDY_MS;
    for (const [key, { until }] of entries) if (until <= now()) drop(key);
  };
  return {
    get bytes() {
      return bytes;
    },
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      if (entry.until > now()) return entry.answer;
      drop(key);
      return undefined;
    },
    put(key, answer) {
      // What was kept before is older than this answer, even if that is not kept itself.
      if (answer.kind !== 'failed') drop(key);
      tidy();
      const weight = weigh([key, answer], ENTRY_BYTES_MAX);
      if (answer.kind === 'failed' || weight > ENTRY_BYTES_MAX) return;
      entries.set(key, { answer, until: now() + lifetimeMs(answer), bytes: weight });
      bytes += weight;
      for (const oldest of entries.keys()) {
        if (bytes <= bytesMax) return;
        drop(oldest);
      }
    },
    clear() {
      entries.clear();
      bytes = 0;
    },
  };
}

function lifetimeMs(answer: Lookup<unknown>): number {
  if (answer.kind !== 'found') return NEGATIVE_MS;
  if (answer.ttlSeconds === undefined) return POSITIVE_MS;
  return Math.min(answer.ttlSeconds * 1000, POSITIVE_MS_MAX);
}
