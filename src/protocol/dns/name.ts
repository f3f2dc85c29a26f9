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
  return labels.length === 0 ? '.' : labels.map(escapedLabel).join('.');
}

export const escapedLabel = (label: string): string => label.replace(ODD_CHARS, escapeChar);

/** The one spelling of a name that names are compared by (RFC 4343: only ASCII letters have two cases). */
export const canonicalName = (name: string): string =>
  nameFromBytes(nameLabels(name)).replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Whether a name is the zone's own or stands below it; by labels, so that `notexample.com` is not in `example.com`. */
export function isWithin(name: string, zone: string): boolean {
  return isWithinCanonical(canonicalName(name), canonicalName(zone));
}

/** The same of two canonical names, at next to no cost. */
export function isWithinCanonical(name: string, zone: string): boolean {
  if (zone === '.' || name === zone) return true;
  if (!name.endsWith(`.${zone}`)) return false;
  // A dot behind an odd number of backslashes is a character of a label.
  const backslashes = /\\*$/.exec(name.slice(0, -zone.length - 1).slice(-NAME_BYTES_MAX))?.[0] ?? '';
  return backslashes.length % 2 === 0;
}

/**
 * The canonical form of a name as a message was read to have it, which is spelled as nameFromBytes does. Without this,
 * comparing the names of a large message would cost more than reading it.
 */
export const canonicalOfRead = (name: string): string => name.toLowerCase();

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
