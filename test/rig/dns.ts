import { createSocket } from 'node:dgram';
import { createServer, isIPv6 } from 'node:net';
import type { Socket } from 'node:net';
import { listenOnSamePort } from './same-port.ts';

export type DnsType = 'A' | 'AAAA' | 'MX' | 'TXT' | 'CNAME' | 'NS' | 'PTR' | 'CAA' | 'SOA';
export type DnsFault = 'SERVFAIL' | 'NXDOMAIN' | 'TIMEOUT' | 'REFUSED';
/**
 * A and AAAA: addresses. MX: '10 mx.example' ('0 .' is a null MX). CNAME, NS and PTR: the target. TXT: a string, or its parts.
 * CAA: '0 issue ca.example'. SOA: 'ns.example admin.example 1 <seconds that an absence is remembered>'.
 */
export type DnsRecords = (string | string[])[];

export interface DnsQuery {
  name: string;
  type: string;
  over: 'udp' | 'tcp';
  /** true: queried as a resolver; false: queried as the server of the zone. */
  recursion: boolean;
}

export interface DnsRig {
  port: number;
  server: string;
  /** Sets an answer. The name '*' answers every name without an entry of its own; '*.example' those below example. */
  set(name: string, type: DnsType | 'ANY', answer: DnsRecords | DnsFault): void;
  /** Removes all entries of a name. */
  forget(name: string): void;
  /** Sets what a resolver answers from its cache instead; queries to the zone itself are not affected. */
  remember(name: string, type: DnsType | 'ANY', answer: DnsRecords | DnsFault, ttlSeconds?: number): void;
  queries: DnsQuery[];
  /** Limit of an answer over UDP: 512 bytes, or more for a client that supports it (EDNS). */
  udpBytesMax: number;
  /** Holds answers, of one type if it is given, until the returned function is called. */
  hold(type?: DnsType): () => void;
  close(): Promise<void>;
}

export type Zones = Record<string, Partial<Record<DnsType | 'ANY', DnsRecords | DnsFault>>>;

const TYPES: Record<string, number> = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28, CAA: 257 };
const CODES: Record<string, number> = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 };
const UDP_BYTES_MAX = 512;

type Table = Map<string, Map<string, DnsRecords | DnsFault>>;

/**
 * Starts a scripted name server on loopback, UDP and TCP on one port. A name without any entry does not exist. A name
 * with an SOA entry begins a zone, which it answers with authority, and which comes with each denial.
 */
export async function startDns(
  zones: Zones = {},
  options: { ttlSeconds?: number; address?: string; port?: number } = {},
): Promise<DnsRig> {
  const { ttlSeconds = 60, address = '127.0.0.1' } = options;
  const table: Table = new Map();
  const memory: Table = new Map();
  const memoryTtls = new Map<string, number>();
  const queries: DnsQuery[] = [];
  const sockets = new Set<Socket>();
  let gate: { type: DnsType | undefined; opened: Promise<void> } | undefined;

  const put = (into: Table, name: string, type: string, answer: DnsRecords | DnsFault): void => {
    const key = name.toLowerCase();
    const entry = into.get(key) ?? new Map<string, DnsRecords | DnsFault>();
    entry.set(type, answer);
    into.set(key, entry);
  };
  const setAnswer: DnsRig['set'] = (name, type, answer) => put(table, name, type, answer);
  for (const [name, types] of Object.entries(zones)) {
    for (const [type, answer] of Object.entries(types)) setAnswer(name, type as DnsType, answer);
  }

  const respond = async (query: Buffer, over: 'udp' | 'tcp'): Promise<Buffer | undefined> => {
    const question = readQuestion(query);
    if (!question) return undefined;
    const { name, type, recursion } = question;
    queries.push({ name, type, over, recursion });
    if (gate && (gate.type ?? type) === type) await gate.opened;
    const reply = recursion ? resolved(query, question) : held(query, question);
    if (!reply) return undefined;
    return over === 'udp' && reply.length > rig.udpBytesMax ? truncated(query, question) : reply;
  };

  const resolved = (query: Buffer, question: Question): Buffer | undefined => {
    const { name, type } = question;
    const remembered = memory.get(name)?.get(type) ?? memory.get(name)?.get('ANY');
    const known = remembered === undefined ? answerFor(table, name, type) : asRecords(name, type, remembered);
    if (known === 'TIMEOUT') return undefined;
    const ttl = (remembered && memoryTtls.get(name)) ?? ttlSeconds;
    return writeAnswer(query, question, known, ttl, { flags: 0x8180, zone: findZone(table, name) });
  };
  const held = (query: Buffer, question: Question): Buffer | undefined => {
    const { name, type } = question;
    const zone = findZone(table, name);
    const cut = findDelegation(table, name, zone?.name);
    if (cut) return writeReferral(query, question, cut, table, ttlSeconds);
    const known = answerFor(table, name, type, zone?.name);
    if (known === 'TIMEOUT') return undefined;
    if (!zone) return writeAnswer(query, question, Array.isArray(known) ? 'REFUSED' : known, 0, { flags: 0x8000 });
    return writeAnswer(query, question, known, ttlSeconds, { flags: 0x8400, zone });
  };

  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let pending: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
        const length = pending.readUInt16BE(0);
        const query = pending.subarray(2, 2 + length);
        pending = pending.subarray(2 + length);
        void respond(query, 'tcp').then((reply) => {
          if (reply && !socket.destroyed) socket.write(Buffer.concat([uint16(reply.length), reply]));
        });
      }
    });
  });
  const udp = createSocket('udp4');
  udp.on('message', (query, from) => {
    void respond(query, 'udp').then((reply) => {
      if (reply && !closed) udp.send(reply, from.port, from.address);
    });
  });
  let closed = false;
  const port = await listenOnSamePort(tcp, udp, address, options.port);

  const rig: DnsRig = {
    port,
    server: `${address}:${port}`,
    udpBytesMax: UDP_BYTES_MAX,
    set: setAnswer,
    forget: (name) => void table.delete(name.toLowerCase()),
    remember(name, type, answer, ttl = ttlSeconds) {
      put(memory, name, type, answer);
      memoryTtls.set(name.toLowerCase(), ttl);
    },
    queries,
    hold(type) {
      let open = (): void => {};
      gate = { type, opened: new Promise((done) => (open = done)) };
      return () => {
        gate = undefined;
        open();
      };
    },
    async close() {
      closed = true;
      for (const socket of sockets) socket.destroy();
      await Promise.all([
        new Promise<void>((done) => tcp.close(() => done())),
        new Promise<void>((done) => udp.close(() => done())),
      ]);
    },
  };
  return rig;
}

interface Question {
  name: string;
  type: string;
  recursion: boolean;
  end: number;
}

function readQuestion(query: Buffer): Question | undefined {
  if (query.length < 17 || query.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const number = query.readUInt16BE(at + 1);
  const type = Object.keys(TYPES).find((name) => TYPES[name] === number) ?? `TYPE${number}`;
  return { name: labels.join('.').toLowerCase(), type, recursion: (query.readUInt16BE(2) & 0x0100) !== 0, end: at + 5 };
}

interface ZoneStart {
  name: string;
  soa: string;
}

const upwards = (name: string): string[] => {
  const labels = name.split('.');
  return labels.map((_, at) => labels.slice(at).join('.'));
};

function findZone(table: Table, name: string): ZoneStart | undefined {
  for (const at of upwards(name)) {
    const soa = table.get(at)?.get('SOA');
    if (Array.isArray(soa)) return { name: at, soa: String(soa[0]) };
  }
  return undefined;
}

/** Finds name servers below the zone's own name: the names from there on belong to somebody else. */
function findDelegation(
  table: Table,
  name: string,
  zone: string | undefined,
): { name: string; hosts: string[] } | undefined {
  for (const at of upwards(name)) {
    if (at === zone) return undefined;
    const hosts = table.get(at)?.get('NS');
    if (zone !== undefined && Array.isArray(hosts)) return { name: at, hosts: hosts.map(String) };
  }
  return undefined;
}

function writeReferral(
  query: Buffer,
  question: Question,
  cut: { name: string; hosts: string[] },
  table: Table,
  ttlSeconds: number,
): Buffer {
  const records = cut.hosts.map((value) => recordBytes({ name: cut.name, type: 'NS', value }, ttlSeconds));
  const glue = cut.hosts.flatMap((host) => {
    const known = table.get(host)?.get('A');
    return Array.isArray(known) ? known.map((value) => recordBytes({ name: host, type: 'A', value }, ttlSeconds)) : [];
  });
  const counts = [0, records.length, glue.length];
  return Buffer.concat([header(query, 0x8000, counts), query.subarray(12, question.end), ...records, ...glue]);
}

const asRecords = (name: string, type: string, answer: DnsRecords | DnsFault): Found =>
  typeof answer === 'string' ? answer : answer.map((value) => ({ name, type, value }));

/** The server of a zone follows an alias no further than the zone. */
function answerFor(table: Table, name: string, type: string, zone?: string): Found {
  const labels = name.split('.');
  const wildcards = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`);
  const entry = [name, ...wildcards, '*'].map((key) => table.get(key)).find((found) => found !== undefined);
  if (!entry) return 'NXDOMAIN';
  const own = entry.get(type) ?? entry.get('ANY');
  if (own !== undefined) return asRecords(name, type, own);
  const alias = entry.get('CNAME');
  if (!Array.isArray(alias)) return [];
  const target = String(alias[0]);
  const link: DnsRecord = { name, type: 'CNAME', value: target };
  if (zone !== undefined && !`.${target}`.toLowerCase().endsWith(`.${zone}`)) return [link];
  const behind = answerFor(table, target.toLowerCase(), type, zone);
  return Array.isArray(behind) ? [link, ...behind] : behind;
}

type Found = DnsFault | DnsRecord[];
interface DnsRecord {
  name: string;
  type: string;
  value: string | string[];
}

function writeAnswer(
  query: Buffer,
  question: Question,
  found: Found,
  ttlSeconds: number,
  how: { flags: number; zone?: ZoneStart | undefined },
): Buffer {
  const records = Array.isArray(found) ? found : [];
  const code = Array.isArray(found) ? 0 : (CODES[found] ?? 2);
  const isDenial = code === 3 || (code === 0 && records.length === 0);
  // RFC 2308 §3: the zone that denies a record says how long that may be remembered.
  const denials =
    isDenial && how.zone ? [recordBytes({ name: how.zone.name, type: 'SOA', value: how.zone.soa }, ttlSeconds)] : [];
  return Buffer.concat([
    header(query, how.flags | code, [records.length, denials.length, 0]),
    query.subarray(12, question.end),
    ...records.map((record) => recordBytes(record, ttlSeconds)),
    ...denials,
  ]);
}

function recordBytes(record: DnsRecord, ttlSeconds: number): Buffer {
  const data = recordData(record);
  const ttl = Buffer.alloc(4);
  ttl.writeUInt32BE(ttlSeconds);
  return Buffer.concat([
    domainName(record.name),
    uint16(TYPES[record.type] ?? 0),
    uint16(1),
    ttl,
    uint16(data.length),
    data,
  ]);
}

function truncated(query: Buffer, question: Question): Buffer {
  return Buffer.concat([
    header(query, question.recursion ? 0x8380 : 0x8600, [0, 0, 0]),
    query.subarray(12, question.end),
  ]);
}

/** Writes a header; the counts are of answers, authorities and additional records. */
function header(query: Buffer, flags: number, counts: number[]): Buffer {
  return Buffer.concat([query.subarray(0, 2), uint16(flags), uint16(1), ...counts.map(uint16)]);
}

function recordData(record: DnsRecord): Buffer {
  const value = record.value;
  if (record.type === 'TXT') {
    const parts = Array.isArray(value) ? value : [value];
    return Buffer.concat(
      parts.map((part) => {
        const bytes = Buffer.from(part);
        if (bytes.length > 255) throw new Error('a string of a TXT record has more than 255 bytes; pass its parts');
        return Buffer.concat([Buffer.from([bytes.length]), bytes]);
      }),
    );
  }
  const text = String(value);
  if (record.type === 'A') return Buffer.from(text.split('.').map(Number));
  if (record.type === 'AAAA') return addressBytes(text);
  if (record.type === 'CNAME' || record.type === 'NS' || record.type === 'PTR') return domainName(text);
  if (record.type === 'SOA') return soaData(text);
  if (record.type === 'CAA') return caaData(text);
  const [preference = '0', host = '.'] = text.split(' ');
  return Buffer.concat([uint16(Number(preference)), domainName(host)]);
}

function soaData(text: string): Buffer {
  const [primary = '.', mailbox = '.', serial = '1', minimum = '60'] = text.split(' ');
  const numbers = Buffer.alloc(20);
  [Number(serial), 7200, 900, 1_209_600, Number(minimum)].forEach((number, at) =>
    numbers.writeUInt32BE(number, at * 4),
  );
  return Buffer.concat([domainName(primary), domainName(mailbox), numbers]);
}

function caaData(text: string): Buffer {
  const [, flags = '0', tag = '', value = ''] = /^(\d+) (\S+) "?(.*?)"?$/.exec(text) ?? [];
  return Buffer.concat([Buffer.from([Number(flags), tag.length]), Buffer.from(tag + value, 'latin1')]);
}

function addressBytes(text: string): Buffer {
  if (!isIPv6(text)) throw new Error(`an AAAA record must be an IPv6 address; got ${text}`);
  const [head = '', tail] = text.split('::');
  const groups = (half: string): number[] => (half === '' ? [] : half.split(':').map((group) => parseInt(group, 16)));
  const left = groups(head);
  const right = groups(tail ?? '');
  const zeros = new Array<number>(tail === undefined ? 0 : 8 - left.length - right.length).fill(0);
  return Buffer.concat([...left, ...zeros, ...right].map(uint16));
}

function domainName(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  return Buffer.concat([
    ...labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ]);
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}
