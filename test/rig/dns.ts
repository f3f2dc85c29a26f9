import { createSocket } from 'node:dgram';
import { createServer, isIPv6 } from 'node:net';
import type { Socket } from 'node:net';

export type DnsType = 'A' | 'AAAA' | 'MX' | 'TXT' | 'CNAME';
export type DnsFault = 'SERVFAIL' | 'NXDOMAIN' | 'TIMEOUT' | 'REFUSED';
/** A and AAAA: addresses. MX: '10 mx.example' ('0 .' is a null MX). CNAME: the target. TXT: a string, or its parts. */
export type DnsRecords = (string | string[])[];

export interface DnsQuery {
  name: string;
  type: string;
  over: 'udp' | 'tcp';
}

export interface DnsRig {
  port: number;
  server: string;
  /** Name '*' answers every name that has no entry of its own; '*.example' those below example. */
  set(name: string, type: DnsType | 'ANY', answer: DnsRecords | DnsFault): void;
  queries: DnsQuery[];
  /** Answers are held back until the returned function is called. */
  hold(): () => void;
  close(): Promise<void>;
}

export type Zones = Record<string, Partial<Record<DnsType | 'ANY', DnsRecords | DnsFault>>>;

const TYPES: Record<string, number> = { A: 1, CNAME: 5, MX: 15, TXT: 16, AAAA: 28 };
const CODES: Record<string, number> = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 };
const UDP_BYTES_MAX = 512;

/** A scripted name server on loopback, UDP and TCP on one port. A name without any entry does not exist. */
export async function startDns(zones: Zones = {}, options: { ttlSeconds?: number } = {}): Promise<DnsRig> {
  const ttlSeconds = options.ttlSeconds ?? 60;
  const table = new Map<string, Map<string, DnsRecords | DnsFault>>();
  const queries: DnsQuery[] = [];
  const sockets = new Set<Socket>();
  let gate: Promise<void> | undefined;

  const setAnswer: DnsRig['set'] = (name, type, answer) => {
    const key = name.toLowerCase();
    const entry = table.get(key) ?? new Map<string, DnsRecords | DnsFault>();
    entry.set(type, answer);
    table.set(key, entry);
  };
  for (const [name, types] of Object.entries(zones)) {
    for (const [type, answer] of Object.entries(types)) setAnswer(name, type as DnsType, answer);
  }

  const respond = async (query: Buffer, over: 'udp' | 'tcp'): Promise<Buffer | undefined> => {
    const question = readQuestion(query);
    if (!question) return undefined;
    queries.push({ name: question.name, type: question.type, over });
    if (gate) await gate;
    const found = answerFor(table, question.name, question.type);
    if (found === 'TIMEOUT') return undefined;
    const reply = writeAnswer(query, question, found, ttlSeconds);
    return over === 'udp' && reply.length > UDP_BYTES_MAX ? truncated(query, question) : reply;
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
  await new Promise<void>((done) => tcp.listen(0, '127.0.0.1', done));
  const port = (tcp.address() as { port: number }).port;
  const udp = createSocket('udp4');
  udp.on('message', (query, from) => {
    void respond(query, 'udp').then((reply) => {
      if (reply && !closed) udp.send(reply, from.port, from.address);
    });
  });
  await new Promise<void>((done, fail) => {
    udp.once('error', fail);
    udp.bind(port, '127.0.0.1', done);
  });
  let closed = false;

  return {
    port,
    server: `127.0.0.1:${port}`,
    set: setAnswer,
    queries,
    hold() {
      let open = (): void => {};
      gate = new Promise((done) => (open = done));
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
}

interface Question {
  name: string;
  type: string;
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
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 };
}

function answerFor(table: Map<string, Map<string, DnsRecords | DnsFault>>, name: string, type: string): Found {
  const labels = name.split('.');
  const wildcards = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`);
  const entry = [name, ...wildcards, '*'].map((key) => table.get(key)).find((found) => found !== undefined);
  if (!entry) return 'NXDOMAIN';
  const own = entry.get(type) ?? entry.get('ANY');
  if (own !== undefined) return typeof own === 'string' ? own : own.map((value) => ({ name, type, value }));
  const alias = entry.get('CNAME');
  if (!Array.isArray(alias)) return [];
  const target = String(alias[0]);
  const behind = answerFor(table, target.toLowerCase(), type);
  const link: DnsRecord = { name, type: 'CNAME', value: target };
  return Array.isArray(behind) ? [link, ...behind] : behind;
}

type Found = DnsFault | DnsRecord[];
interface DnsRecord {
  name: string;
  type: string;
  value: string | string[];
}

function writeAnswer(query: Buffer, question: Question, found: Found, ttlSeconds: number): Buffer {
  const records = Array.isArray(found) ? found : [];
  const code = Array.isArray(found) ? 0 : (CODES[found] ?? 2);
  const parts = [header(query, 0x8180 | code, records.length), query.subarray(12, question.end)];
  for (const record of records) {
    const data = recordData(record);
    const ttl = Buffer.alloc(4);
    ttl.writeUInt32BE(ttlSeconds);
    parts.push(domainName(record.name), uint16(TYPES[record.type] ?? 0), uint16(1), ttl, uint16(data.length), data);
  }
  return Buffer.concat(parts);
}

function truncated(query: Buffer, question: Question): Buffer {
  return Buffer.concat([header(query, 0x8380, 0), query.subarray(12, question.end)]);
}

function header(query: Buffer, flags: number, answers: number): Buffer {
  return Buffer.concat([query.subarray(0, 2), uint16(flags), uint16(1), uint16(answers), uint16(0), uint16(0)]);
}

function recordData(record: DnsRecord): Buffer {
  const value = record.value;
  if (record.type === 'TXT') {
    const parts = Array.isArray(value) ? value : [value];
    return Buffer.concat(parts.map((part) => Buffer.concat([Buffer.from([part.length]), Buffer.from(part)])));
  }
  const text = String(value);
  if (record.type === 'A') return Buffer.from(text.split('.').map(Number));
  if (record.type === 'AAAA') return addressBytes(text);
  if (record.type === 'CNAME') return domainName(text);
  const [preference = '0', host = '.'] = text.split(' ');
  return Buffer.concat([uint16(Number(preference)), domainName(host)]);
}

function addressBytes(text: string): Buffer {
  if (!isIPv6(text)) throw new Error(`an AAAA record is an IPv6 address; got ${text}`);
  const [head = '', tail] = text.split('::');
  const groups = (half: string): number[] => (half === '' ? [] : half.split(':').map((group) => parseInt(group, 16)));
  const [left, right] = [groups(head), groups(tail ?? '')];
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
