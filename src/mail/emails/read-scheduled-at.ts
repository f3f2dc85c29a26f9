import type { FieldFault } from '../../platform/refusal/index.ts';
import { parseIsoTime } from '../../protocol/iso-time/index.ts';

const EARLIEST_MS = 60_000;
const LATEST_MS = 30 * 24 * 3_600_000;

/** ISO 8601 with its offset from UTC, from 1 minute to 30 days ahead. */
export function readScheduledAt(text: string | null, now: number, faults: FieldFault[]): number | null {
  if (text === null) return null;
  const time = parseIsoTime(text);
  if (!time?.hasOffset) {
    const message = `scheduled_at must be an ISO 8601 time with an offset, such as ${new Date(now + 3_600_000).toISOString()}.`;
    faults.push({ path: 'scheduled_at', message });
    return null;
  }
  const at = time.ms;
  if (at < now + EARLIEST_MS || at > now + LATEST_MS) {
    const message = `scheduled_at must be between 1 minute and 30 days from now; got ${new Date(at).toISOString()}.`;
    faults.push({ path: 'scheduled_at', message });
    return null;
  }
  return at;
}
