import { nameFromBytes, nameLabels } from './name.ts';
import { typeName } from './record-types.ts';
import { typeOf, type DnsRecord, type RecordData } from './record.ts';

const STRING_BYTES_MAX = 255;

/** A text as the strings of a TXT record, 255 bytes each (RFC 1035 §3.3); readers put them together again without anything between them. */
export function byteStrings(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  if (bytes === '') return [''];
  return bytes.match(new RegExp(`[^]{1,${STRING_BYTES_MAX}}`, 'g')) ?? [];
}

/**
 * A record as it stands in a zone file (RFC 1035 §5.1), every name with its final dot, so that no $ORIGIN is needed. A text of
 * several strings has parentheses around them and a line for each.
 */
export function zoneEntry({ name, ttl, data }: DnsRecord): string {
  const head = `${absolute(name)} ${ttl} IN ${typeName(typeOf(data))}`;
  if (data.type !== 'TXT' || data.strings.length < 2) return `${head} ${recordValue(data)}`;
  return `${head} (\n${data.strings.map((string) => `  ${quoted(string)}`).join('\n')} )`;
}

/** A record's data as it stands in a zone file; equal data has equal text but for the case of names. */
export function recordValue(data: RecordData): string {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return data.address;
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return absolute(data.target);
    case 'MX':
      return `${data.priority} ${absolute(data.exchange)}`;
    case 'TXT':
      return data.strings.map(quoted).join(' ');
    case 'CAA':
      return `${data.flags} ${data.tag} ${quoted(data.value)}`;
    case 'SOA':
      return [
        absolute(data.primary),
        absolute(data.mailbox),
        data.serial,
        data.refresh,
        data.retry,
        data.expire,
        data.minimum,
      ].join(' ');
    case 'opaque':
      // RFC 3597 §5.
      return `\\# ${data.bytes.length}${data.bytes.length > 0 ? ` ${data.bytes.toString('hex')}` : ''}`;
  }
}

/** A line break inside quotes would end the record in some readers, so that everything unprintable is a number. */
const quoted = (bytes: string): string =>
  `"${bytes.replace(/[^\x20-\x7e]|["\\]/g, (char) =>
    /["\\]/.test(char) ? `\\${char}` : `\\${String(char.charCodeAt(0)).padStart(3, '0')}`,
  )}"`;

function absolute(name: string): string {
  const labels = nameLabels(name);
  return labels.length === 0 ? '.' : `${nameFromBytes(labels)}.`;
}
