const DAY_MS = 86_400_000;

/** How long to wait (RFC 9110 §10.2.3), a day at the most: seconds or a date. Undefined where it says neither. */
export function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d{1,10}$/.test(text)) return Math.min(DAY_MS, Number(text) * 1000);
  const at = /^[A-Z][a-z]{2}, \d{2} /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? undefined : Math.min(DAY_MS, Math.max(0, at - now));
}
