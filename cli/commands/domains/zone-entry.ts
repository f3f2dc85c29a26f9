import type { DomainRecord } from '../../../src/contract/index.ts';

/** A character-string holds at most 255 bytes (RFC 1035 §3.3); a longer text is several of them, read as one. */
const STRING_BYTES_MAX = 255;

/**
 * Formats a record for a zone file (RFC 1035 §5.1); the name is absolute, so that it fits under any $ORIGIN. A text of
 * several strings has parentheses around them and a line for each.
 */
export function zoneEntry(record: DomainRecord): string {
  const ttl = /^\d+$/.test(record.ttl) ? `\t${record.ttl}` : '';
  return `${absolute(record.name)}${ttl}\tIN\t${record.type}\t${formatData(record)}`;
}

function formatData({ type, value, priority }: DomainRecord): string {
  switch (type) {
    case 'TXT':
      return characterStrings(value);
    case 'MX':
      return `${priority ?? 0} ${absolute(value)}`;
    case 'CNAME':
      return absolute(value);
    case 'CAA':
      return plain(value);
  }
}

function characterStrings(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  const strings: string[] = [];
  for (let from = 0; from === 0 || from < bytes.length; from += STRING_BYTES_MAX) {
    strings.push(`"${quoted(bytes.subarray(from, from + STRING_BYTES_MAX))}"`);
  }
  return strings.length === 1 ? strings.join('') : `(\n${strings.map((string) => `\t${string}`).join('\n')} )`;
}

/** RFC 1035 §5.1: \X takes a character for itself, \DDD is a byte by its decimal number. */
function quoted(bytes: Uint8Array): string {
  return [...bytes]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      if (byte < 0x20 || byte > 0x7e) return `\\${String(byte).padStart(3, '0')}`;
      return character === '"' || character === '\\' ? `\\${character}` : character;
    })
    .join('');
}

const absolute = (name: string): string => `${plain(name).replace(/\.$/, '')}.`;

/** Text of the server must not begin a second line or a comment in somebody’s zone. */
const plain = (text: string): string =>
  text.replaceAll(/[^\x20-\x7e]|;/g, (found) =>
    [...Buffer.from(found)].map((byte) => `\\${String(byte).padStart(3, '0')}`).join(''),
  );
