import { CliFault } from '../output/index.ts';

const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns the start of a period as an ISO 8601 time: reads a number and a unit, counted back from `now`, or an ISO 8601
 * time with its zone.
 */
export function readSince(text: string, now: number): string {
  const [, amount = '', unit = ''] = /^(\d{1,6})\s*([smhd])$/i.exec(text) ?? [];
  const backMs = Number(amount) * (UNIT_MS[unit.toLowerCase()] ?? 0);
  if (backMs > 0) return new Date(now - backMs).toISOString();
  const isInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i.test(text);
  const at = isInstant ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw new CliFault(
    `--since must be a number and s, m, h or d, such as 2h, or an ISO 8601 time with its zone; got ${JSON.stringify(text)}.`,
    'usage',
  );
}
