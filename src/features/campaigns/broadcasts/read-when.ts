import { invalidFields, type FieldFault } from '../../../platform/refusal/index.ts';
import { parseIsoTime, parseTimePhrase } from '../../../protocol/iso-time/index.ts';
import { readScheduledAt } from '../../../mail/emails/index.ts';

export interface When {
  at: number;
  /** What the clock shows that it was written by, as if it were UTC. A phrase is read by the clock of UTC. */
  local: number;
}

/** When to send: null for now. A time or a phrase, from 1 minute to 30 days ahead. */
export function readWhen(text: string | undefined, now: number): When | null {
  if (text === undefined) return null;
  const said = parseTimePhrase(text, now);
  if (said === undefined && parseIsoTime(text)?.hasOffset !== true) throw unreadable(now);
  const written = said === undefined ? text : new Date(said).toISOString();
  const faults: FieldFault[] = [];
  const at = readScheduledAt(written, now, faults);
  if (faults.length > 0) throw invalidFields(faults);
  return at === null ? null : { at, local: parseIsoTime(written)?.local ?? at };
}

function unreadable(now: number) {
  const example = new Date(now + 3_600_000).toISOString();
  const message = `scheduled_at must be an ISO 8601 time with an offset, such as ${example}, or a phrase such as "in 2 hours" or "tomorrow at 9:30".`;
  return invalidFields([{ path: 'scheduled_at', message }]);
}
