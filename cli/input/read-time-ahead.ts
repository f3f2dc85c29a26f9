import { CliFault } from '../output/index.ts';

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** A time that is to come: so long from now, or an ISO 8601 time. */
export function readTimeAhead(text: string, now: number): string {
  const [, amount = '', unit = ''] = /^(\d{1,6})\s*([mhdw])$/.exec(text.trim()) ?? [];
  const aheadMs = Number(amount) * (UNIT_MS[unit] ?? 0);
  if (aheadMs > 0) return new Date(now + aheadMs).toISOString();
  // Other words mean something to Date.parse too, and hardly what was meant.
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  throw new CliFault(
    `${JSON.stringify(text)} must be a number and m, h, d or w, such as 2h or 3d, or an ISO 8601 time`,
    'usage',
  );
}
