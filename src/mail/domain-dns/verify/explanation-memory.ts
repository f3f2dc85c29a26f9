import type { Explained } from './judged-record.ts';

const KEPT_MS = 30_000;
const ENTRIES_MAX = 1000;

interface Entry {
  until: number;
  value: Promise<Explained[]>;
}

/** One memory for each instance, which goes when it goes. */
const memories = new WeakMap<object, Map<string, Entry>>();

/** How much is held for an instance now. */
export const rememberedCount = (instance: object): number => memories.get(instance)?.size ?? 0;

/** What was made for a key in the last half minute, or is being made. A fault is not remembered. */
export function rememberShortly(
  instance: object,
  key: string,
  now: number,
  make: () => Promise<Explained[]>,
): Promise<Explained[]> {
  const memory = memories.get(instance) ?? new Map<string, Entry>();
  memories.set(instance, memory);
  const kept = memory.get(key);
  if (kept && kept.until > now) return kept.value;
  // All are kept equally long, so that the oldest come first.
  for (const [old, { until }] of memory) {
    if (until > now) break;
    memory.delete(old);
  }
  const value = make();
  memory.delete(key);
  memory.set(key, { until: now + KEPT_MS, value });
  value.catch(() => memory.delete(key));
  const [oldest] = memory.size > ENTRIES_MAX ? memory.keys() : [];
  if (oldest !== undefined) memory.delete(oldest);
  return value;
}
