import { refuse } from '../../../platform/refusal/index.ts';
import { readValue, type PropertyType } from '../../../protocol/contact-filter/index.ts';

/** A fallback as it is stored. */
export function readFallback(type: PropertyType, value: string | number | null): string | null {
  if (value === null) return null;
  const read = readValue(type, value);
  if (!read.ok) {
    throw refuse('invalid_parameter', { say: `fallback_value ${read.fault}, as the property is a ${type}.` });
  }
  return JSON.stringify(read.value);
}
