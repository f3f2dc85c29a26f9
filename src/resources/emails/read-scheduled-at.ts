import type { FieldFault } from '../../platform/refusal/index.ts';

const EARLIEST_MS = 60_000;
const LATEST_MS = 30 * 24 * 3_600_000;
const ISO_8601 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/;

/** ISO 8601 with its offset from UTC, from 1 minute to 30 days ahead. */
export function readScheduledAt(text: string | null, now: number, faults: FieldFault[]): number | null {
  if (text === null) return null;
  const at = ISO_8601.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) {
    const message = `scheduled_at must be an ISO 8601 time with an offset, such as ${new Date(now + 3_600_000).toISOString()}.`;
    faults.push({ path: 'scheduled_at', message });
    return null;
  }
  if (at < now + EARLIEST_MS || at > now + LATEST_MS) {
    const message = `scheduled_at must be between 1 minute and 30 days from now; got ${new Date(at).toISOString()}.`;
    faults.push({ path: 'scheduled_at', message });
    return null;
  }
  return at;
}
