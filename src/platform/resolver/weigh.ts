/** A list, an object or a string in memory, beside its characters. */
const HEADER_BYTES = 40;

/**
 * About how many bytes a value of plain data takes. It stops counting above `max`, so that what is far too large costs no
 * more than what is just too large.
 */
export function weigh(value: unknown, max = Infinity): number {
  if (typeof value === 'string') return HEADER_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = HEADER_BYTES;
  for (const part of Array.isArray(value) ? value : Object.values(value)) {
    bytes += weigh(part, max - bytes);
    if (bytes > max) break;
  }
  return bytes;
}
