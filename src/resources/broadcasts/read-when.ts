import { invalidFields, type FieldFault } from '../../platform/refusal/index.ts';
import { parseTimePhrase } from '../../protocol/iso-time/index.ts';
import { readScheduledAt } from '../emails/index.ts';

/** When to send: null for now. A time or a phrase, from 1 minute to 30 days ahead. */
export function readWhen(text: string | undefined, now: number): number | null {
  if (text === undefined) return null;
  const said = parseTimePhrase(text, now);
  const faults: FieldFault[] = [];
  const at = readScheduledAt(said === undefined ? text : new Date(said).toISOString(), now, faults);
  if (faults.length > 0) throw invalidFields(faults);
  return at;
}
