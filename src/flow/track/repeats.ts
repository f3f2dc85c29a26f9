const KEYS_MAX = 50_000;

/**
 * Tells a second fetch of the same thing within the window from a first one: browsers and proxies fetch twice what a
 * person opened once. Two maps take turns, so that what is old is forgotten at no cost.
 */
export function createRepeats(now: () => number, windowMs: number): (key: string) => boolean {
  let current = new Map<string, number>();
  let before = new Map<string, number>();
  let turnedAt = now();
  return (key) => {
    const at = now();
    if (at - turnedAt >= windowMs || current.size >= KEYS_MAX) {
      before = current;
      current = new Map();
      turnedAt = at;
    }
    const first = current.get(key) ?? before.get(key);
    if (first !== undefined && at - first < windowMs) return true;
    current.set(key, at);
    return false;
  };
}
