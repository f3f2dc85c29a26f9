import type { Lookup } from './answers.ts';

export interface LookUpCacheOptions {
  now: () => number;
  entriesMax: number;
}

const POSITIVE_MS = 60_000;
const NEGATIVE_MS = 30_000;
const POSITIVE_MS_MAX = 300_000;

export interface LookUpCache {
  get(key: string): Lookup<unknown> | undefined;
  put(key: string, answer: Lookup<unknown>): void;
  clear(): void;
}

/** Failures are not kept: whoever asks again wants to know whether the name server has recovered. */
export function createLookUpCache({ now, entriesMax }: LookUpCacheOptions): LookUpCache {
  const entries = new Map<string, { answer: Lookup<unknown>; until: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      if (entry.until > now()) return entry.answer;
      entries.delete(key);
      return undefined;
    },
    put(key, answer) {
      if (answer.kind === 'failed') return;
      const until = now() + lifetimeMs(answer);
      entries.delete(key);
      entries.set(key, { answer, until });
      if (entries.size <= entriesMax) return;
      for (const oldest of entries.keys()) {
        entries.delete(oldest);
        break;
      }
    },
    clear: () => entries.clear(),
  };
}

function lifetimeMs(answer: Lookup<unknown>): number {
  if (answer.kind !== 'found') return NEGATIVE_MS;
  if (answer.ttlSeconds === undefined) return POSITIVE_MS;
  return Math.min(answer.ttlSeconds * 1000, POSITIVE_MS_MAX);
}
