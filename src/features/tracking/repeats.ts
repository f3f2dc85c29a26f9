const KEYS_MAX = 50_000;

/**
 * Tells a second fetch of the same thing within the window from a first one: browsers and proxies fetch twice what a
 * person opened once. Two maps take turns, so that what is old is forgotten at no cost. They hold numbers made of the
 * parts, because the texts of a rush would keep the garbage collector busier than the answers: that two different
 * engagements of one second share 53 bits will not happen.
 */
export function createRepeats(now: () => number, windowMs: number): (...parts: string[]) => boolean {
  let current = new Map<number, number>();
  let before = new Map<number, number>();
  let turnedAt = now();
  return (...parts) => {
    const key = numberOf(parts);
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

/**
 * Two 32-bit hashes over UTF-16 units, as one number of 53 bits: `high` is FNV-1a fed with units for bytes, `low` does
 * the same steps with another beginning and another odd factor.
 * They keep chance away, not intent: a recipient who makes two texts collide hides one engagement of the same second.
 */
function numberOf(parts: readonly string[]): number {
  let high = 0x811c9dc5;
  let low = 0x01000193;
  for (const part of parts) {
    for (let i = 0; i < part.length; i++) {
      const unit = part.charCodeAt(i);
      high = Math.imul(high ^ unit, 0x01000193);
      low = Math.imul(low ^ unit, 0x85ebca6b);
    }
    // Where one part ends and the next begins.
    high = Math.imul(high ^ 0x10000, 0x01000193);
    low = Math.imul(low ^ 0x10000, 0x85ebca6b);
  }
  return (high >>> 11) * 0x1_0000_0000 + (low >>> 0);
}
