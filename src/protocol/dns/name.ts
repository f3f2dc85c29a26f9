import { DnsFormatError } from './dns-format-error.ts';

const NAME_BYTES_MAX = 255;
const LABEL_BYTES_MAX = 63;

/**
 * The labels of a name as it is written: without its final dot (which may be there), `\.` and `\DDD` for odd bytes
 * (RFC 1035 §5.1), `.` for the root. One character of a label is one byte.
 */
export function nameLabels(name: string): string[] {
  if (name === '.' || name === '') return [];
  const labels: string[] = [];
  let label = '';
  for (let at = 0; at < name.length; at++) {
    const char = name.charAt(at);
    if (char === '.') {
      labels.push(label);
      label = '';
    } else if (char === '\\') {
      const digits = /^\d{3}/.exec(name.slice(at + 1, at + 4))?.[0];
      label += digits === undefined ? name.charAt(at + 1) : String.fromCharCode(byteOf(digits, name));
      at += digits === undefined ? 1 : 3;
    } else {
      label += char;
    }
  }
  if (!endsWithDot(name)) labels.push(label);
  mustFit(labels, name);
  return labels;
}

/** The other way round; nameLabels gives the same labels back. */
export function nameFromBytes(labels: readonly string[]): string {
  return labels.length === 0 ? '.' : labels.map((label) => label.replace(ODD_CHARS, escapeChar)).join('.');
}

/** The one spelling of a name that names are compared by (RFC 4343: only ASCII letters have two cases). */
export const canonicalName = (name: string): string =>
  nameFromBytes(nameLabels(name)).replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Whether a name is the zone's own or stands below it; by labels, so that `notexample.com` is not in `example.com`. */
export function isWithin(name: string, zone: string): boolean {
  const [inner, outer] = [nameLabels(canonicalName(name)), nameLabels(canonicalName(zone))];
  const from = inner.length - outer.length;
  return from >= 0 && outer.every((label, i) => inner[from + i] === label);
}

// Everything that is neither printable nor plain in a zone file: blanks, quotes, comments, parentheses, @ and $.

const ODD_CHARS = /[^\x21-\x7e]|[."\\;()@$]/g;

function escapeChar(char: string): string {
  if (/[\x21-\x7e]/.test(char)) return `\\${char}`;
  return `\\${String(char.charCodeAt(0)).padStart(3, '0')}`;
}

function endsWithDot(name: string): boolean {
  const backslashes = /(\\*)\.$/.exec(name)?.[1];
  return backslashes !== undefined && backslashes.length % 2 === 0;
}

function byteOf(digits: string, name: string): number {
  const byte = Number(digits);
  if (byte <= 255) return byte;
  throw new DnsFormatError(`The name ${shown(name)} has \\${digits}; an escaped byte is at most \\255.`);
}

function mustFit(labels: readonly string[], name: string): void {
  let bytes = 1;
  for (const label of labels) {
    if (label === '') throw new DnsFormatError(`The name ${shown(name)} has an empty label.`);
    if (label.length > LABEL_BYTES_MAX) {
      throw new DnsFormatError(`A label of ${shown(name)} has ${label.length} bytes; at most 63 are possible.`);
    }

    if (/[^\0-\xff]/.test(label)) {
      throw new DnsFormatError(`The name ${shown(name)} is not made of bytes; write it as A-labels.`);
    }
    bytes += 1 + label.length;
  }
  if (bytes > NAME_BYTES_MAX) {
    throw new DnsFormatError(`The name ${shown(name)} has ${bytes} bytes; at most ${NAME_BYTES_MAX} are possible.`);
  }
}

const shown = (name: string): string => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
