import {
  canonicalName,
  canonicalOfRead,
  RCODES,
  rcodeName,
  typeName,
  type DnsMessage,
  type DnsRecord,
  type RecordData,
} from '../../protocol/dns/index.ts';
import type { Answer } from '../../protocol/dns-diagnosis/index.ts';

const ALIASES_MAX = 8;
/** Of a record whose type is not read here. */
const OPAQUE_BYTES_MAX = 1024;

/** What a message says about one name and type, following its own aliases. */
export function readAnswer(message: DnsMessage, name: string, type: string): Answer {
  if (message.rcode !== RCODES.NOERROR && message.rcode !== RCODES.NXDOMAIN) {
    return { kind: 'failed', reason: rcodeName(message.rcode).toLowerCase() };
  }
  const aliases: string[] = [];
  const byOwner = groupedByOwner(message.answers);
  let owner = canonicalName(name);
  for (;;) {
    const own = byOwner.get(owner) ?? [];
    const records = own.filter((record) => recordType(record.data) === type);
    if (records.length > 0) {
      const ttlSeconds = Math.min(...records.map((record) => record.ttl));
      return { kind: 'found', records: records.map(({ data }) => recordText(data)), aliases, ttlSeconds };
    }
    const alias = own.find(({ data }) => data.type === 'CNAME')?.data;
    const target = alias?.type === 'CNAME' ? canonicalOfRead(alias.target) : undefined;
    // An alias of an alias of itself ends here as well.
    if (target === undefined || aliases.includes(target) || aliases.length >= ALIASES_MAX) break;
    aliases.push(target);
    owner = target;
  }
  const why = message.rcode === RCODES.NXDOMAIN ? ('nxdomain' as const) : ('nodata' as const);
  return { kind: 'none', why, aliases, ttlSeconds: absenceSeconds(message) };
}

/** Each name is looked at once, however many aliases are followed. */
function groupedByOwner(records: readonly DnsRecord[]): Map<string, DnsRecord[]> {
  const groups = new Map<string, DnsRecord[]>();
  const asRead = new Map<string, DnsRecord[]>();
  for (const record of records) {
    const before = asRead.get(record.name);
    if (before) {
      before.push(record);
      continue;
    }
    const owner = canonicalOfRead(record.name);
    const group = groups.get(owner) ?? [];
    group.push(record);
    groups.set(owner, group);
    asRead.set(record.name, group);
  }
  return groups;
}

/** RFC 2308 §5: the smaller one of the SOA record's TTL, which a resolver counts down, and its minimum. */
function absenceSeconds(message: DnsMessage): number | undefined {
  for (const { ttl, data } of message.authorities) {
    if (data.type === 'SOA') return Math.min(ttl, data.minimum);
  }
  return undefined;
}

const recordType = (data: RecordData): string => (data.type === 'opaque' ? typeName(data.number) : data.type);

export function recordText(data: RecordData): string {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return data.address;
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return canonicalOfRead(data.target);
    case 'MX':
      return `${data.priority} ${canonicalOfRead(data.exchange)}`;
    case 'TXT':
      return data.strings.join('');
    case 'CAA':
      return `${data.flags} ${data.tag} "${data.value}"`;
    case 'SOA':
      return `${canonicalOfRead(data.primary)} ${data.serial}`;
    case 'opaque':
      return data.bytes.toString('hex', 0, OPAQUE_BYTES_MAX);
  }
}
