/** What a contact may have under a key that its team declared. */
export type PropertyType = 'string' | 'number' | 'boolean';
export type PropertyValue = string | number | boolean;

const TEXT_CHARS_MAX = 500;
/** What an index of PostgreSQL takes as one value is a little more. */
const TEXT_BYTES_MAX = 2000;
/** Up to here every whole number and every 15 digits are kept as they are by both databases. */
const NUMBER_MAX = 1e15;
const DIGITS = 15;

/** Texts are compared without letter case and in one Unicode form; accents count. */
export const foldText = (text: string): string => text.toLowerCase().normalize('NFC');

export type ValueResult<Value = PropertyValue> = { ok: true; value: Value } | { ok: false; fault: string };

/** A value as it is kept, or what would be right, to be read behind the name of the field. */
export function readValue(type: PropertyType, value: unknown): ValueResult {
  if (type === 'string') return readText(value);
  if (type === 'number') return readNumber(value);
  return typeof value === 'boolean' ? { ok: true, value } : { ok: false, fault: 'must be true or false' };
}

function readText(value: unknown): ValueResult<string> {
  if (typeof value !== 'string') return { ok: false, fault: 'must be a string' };
  const isShort = value.length <= TEXT_CHARS_MAX && Buffer.byteLength(foldText(value)) <= TEXT_BYTES_MAX;
  if (!isShort) return { ok: false, fault: `must have at most ${TEXT_CHARS_MAX} characters` };
  return { ok: true, value };
}

export function readNumber(value: unknown): ValueResult<number> {
  if (typeof value !== 'number' || !Number.isFinite(value)) return { ok: false, fault: 'must be a number' };
  if (Math.abs(value) > NUMBER_MAX) return { ok: false, fault: 'must be a number from -10^15 to 10^15' };
  const kept = Number(value.toPrecision(DIGITS));
  return { ok: true, value: Math.abs(kept) < 1 / NUMBER_MAX ? 0 : kept };
}
