import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import {
  canonicalName,
  decodeMessage,
  encodeMessage,
  questionMessage,
  RCODES,
  typeNumber,
  canonicalOfRead,
  rcodeName,
  recordValue,
  typeName,
  type DnsMessage,
  type RecordTypeName,
  type DnsRecord,
  type RecordData,
  type QuestionOptions,
} from '../../protocol/dns/index.ts';
import type { Answer } from '../../protocol/dns-diagnosis/index.ts';

export interface NameServer {
  address: string;
  port: number;
}

/** Parses `192.0.2.1`, `192.0.2.1:53`, `2001:db8::1` or `[2001:db8::1]:53`. */
export function readServer(text: string): NameServer {
  const [, bracketed, v4, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  return { address: bracketed ?? v4 ?? text, port: port === undefined ? 53 : Number(port) };
}

type ExchangeQuestion = Omit<QuestionOptions, 'udpBytesMax'> & {
  name: string;
  type: RecordTypeName;
};

export type Exchanged =
  | { kind: 'answered'; message: DnsMessage }
  | { kind: 'failed'; reason: 'timeout' | 'unreachable' | 'malformed' | 'stopped' };

interface ExchangeOptions {
  /** Per attempt over UDP, and over TCP from connecting to the last byte. */
  timeoutMs: number;
  tries: number;
  signal: AbortSignal;
  budget: ReadBudget;
}

/** Limits what the caller reads of all responses. */
export interface ReadBudget {
  /** Counts the bytes of one message; returns false if this message must not be read any more. */
  allows(bytes: number): boolean;
  /** Resolves when a large message may be read: one at a time, with a turn of the event loop in between. */
  yieldBetween(): Promise<void>;
}

/** A size that passes every path unfragmented: 1280 bytes (RFC 8200 §5) without the headers of IPv6 and UDP. */
const UDP_BYTES_MAX = 1232;
/** Maximum number of replies to one question over UDP, including the right one. */
const REPLIES_MAX = 16;

const garbled: Exchanged = { kind: 'failed', reason: 'malformed' };

/**
 * Sends one question to one server: over UDP, over TCP if the answer does not fit, and without EDNS if the server does
 * not support it. Each attempt has its own port and number, so that a host off the path cannot forge the answer.
 */
export async function exchange(
  server: NameServer,
  question: ExchangeQuestion,
  options: ExchangeOptions,
): Promise<Exchanged> {
  let last: Exchanged = { kind: 'failed', reason: 'stopped' };
  let isPlain = false;
  for (let tries = options.tries; tries > 0 && !options.signal.aborted; tries--) {
    last = await askUdp(server, question, options, isPlain);
    if (last.kind === 'failed') {
      if (last.reason !== 'timeout') return last;
      continue;
    }
    const { truncated, rcode } = last.message;
    if (truncated) return askTcp(server, question, options);
    // RFC 6891 §7: an old server refuses the OPT record.
    if (isPlain || (rcode !== RCODES.FORMERR && rcode !== RCODES.NOTIMP)) return last;
    isPlain = true;
  }
  return last;
}

function questionBytes(question: ExchangeQuestion, isPlain: boolean): { id: number; bytes: Buffer } {
  const id = randomInt(0x1_0000);
  const { name, type, ...options } = question;
  const message = questionMessage(id, name, type, {
    ...options,
    ...(isPlain ? {} : { udpBytesMax: UDP_BYTES_MAX }),
  });
  return { id, bytes: encodeMessage(message) };
}

/** Returns undefined if the bytes are not an answer to this question. */
function readReply(bytes: Buffer, id: number, question: ExchangeQuestion, budget: ReadBudget): Exchanged | undefined {
  if (bytes.length < 2 || bytes.readUInt16BE(0) !== id) return undefined;
  if (!budget.allows(bytes.length)) return { kind: 'failed', reason: 'stopped' };
  try {
    const message = decodeMessage(bytes);
    const [asked] = message.questions;
    if (!message.isAnswer) return undefined;
    // RFC 1035 §4.1.1: a server that cannot read the question does not repeat it.
    if (!asked && message.rcode === RCODES.FORMERR) return { kind: 'answered', message };
    if (!asked || asked.type !== typeNumber(question.type)) return undefined;
    if (canonicalName(asked.name) !== canonicalName(question.name)) return undefined;
    return { kind: 'answered', message };
  } catch {
    return garbled;
  }
}

function askUdp(
  server: NameServer,
  question: ExchangeQuestion,
  { timeoutMs, signal, budget }: ExchangeOptions,
  isPlain: boolean,
): Promise<Exchanged> {
  const { id, bytes } = questionBytes(question, isPlain);
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
    const end = (answer: Exchanged): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      socket.removeAllListeners('message');
      // Ignore late errors of a socket that is no longer used.
      socket.removeAllListeners('error').on('error', () => undefined);
      if (!isClosed) socket.close();
      isClosed = true;
      resolve(answer);
    };
    let isClosed = false;
    const stop = (): void => end({ kind: 'failed', reason: 'stopped' });
    const timer = setTimeout(() => end({ kind: 'failed', reason: 'timeout' }), timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    socket.on('error', () => end({ kind: 'failed', reason: 'unreachable' }));
    let replies = 0;
    socket.on('message', (reply) => {
      // Only one question was asked: a server that keeps sending other answers has not understood it.
      const isReadable = reply.length <= UDP_BYTES_MAX && ++replies <= REPLIES_MAX;
      const answer = isReadable ? readReply(reply, id, question, budget) : garbled;
      if (answer) end(answer);
    });
    // On a connected socket, the system drops packets from anybody else. Without a route, only the callback gets the
    // error.
    socket.connect(server.port, server.address, (error?: Error) => {
      if (error) end({ kind: 'failed', reason: 'unreachable' });
      else if (!isClosed) socket.send(bytes);
    });
  });
}

function askTcp(
  server: NameServer,
  question: ExchangeQuestion,
  { timeoutMs, signal, budget }: ExchangeOptions,
): Promise<Exchanged> {
  const { id, bytes } = questionBytes(question, false);
  return new Promise((resolve) => {
    const socket = connect({ host: server.address, port: server.port });
    const end = (answer: Exchanged): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      socket.destroy();
      resolve(answer);
    };
    const stop = (): void => end({ kind: 'failed', reason: 'stopped' });
    const timer = setTimeout(() => end({ kind: 'failed', reason: 'timeout' }), timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    socket.on('error', () => end({ kind: 'failed', reason: 'unreachable' }));
    socket.on('close', () => end({ kind: 'failed', reason: 'unreachable' }));
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    socket.on('connect', () => socket.write(Buffer.concat([length, bytes])));
    // The length has two bytes: at most 64 KiB can be announced, and bytes after that are not read.
    const chunks: Buffer[] = [];
    let received = 0;
    let wanted = 2;
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      received += chunk.length;
      if (received < wanted) return;
      const got = Buffer.concat(chunks.splice(0));
      wanted = 2 + got.readUInt16BE(0);
      if (received < wanted) return void chunks.push(got);
      // The answer is complete, so whatever happens to the connection no longer matters.
      socket
        .removeAllListeners('close')
        .removeAllListeners('error')
        .on('error', () => undefined)
        .pause();
      const read = (): void => {
        if (!signal.aborted) end(readReply(got.subarray(2, wanted), id, question, budget) ?? garbled);
      };
      void budget.yieldBetween().then(read);
    });
  });
}

/** RFC 1034 §3.6.2 has no limit; resolvers follow about as many. */
const ALIASES_MAX = 10;
/** Maximum size of a record whose type is not parsed. */
const OPAQUE_BYTES_MAX = 1024;

/** Extracts a message's records for one name and type, following aliases within the message. */
export function readAnswer(message: DnsMessage, name: string, type: string): Answer {
  if (message.rcode !== RCODES.NOERROR && message.rcode !== RCODES.NXDOMAIN) {
    return { kind: 'failed', reason: rcodeName(message.rcode).toLowerCase() };
  }
  const { records, aliases } = findRecords(message, name, type);
  if (records.length > 0) {
    return {
      kind: 'found',
      records: records.map(({ data }) => recordText(data)),
      aliases,
      ttlSeconds: leastTtl(records),
    };
  }
  const why = message.rcode === RCODES.NXDOMAIN ? ('nxdomain' as const) : ('nodata' as const);
  return { kind: 'none', why, aliases, ttlSeconds: absenceSeconds(message) };
}

export interface RecordsFound {
  records: DnsRecord[];
  /** The targets of the CNAMEs that were followed; the records are at the last one. */
  aliases: string[];
  /** The message contains a loop of aliases, or more of them than are followed. */
  isEndless: boolean;
}

export function findRecords(message: DnsMessage, name: string, type: string): RecordsFound {
  const aliases: string[] = [];
  const byOwner = groupedByOwner(message.answers);
  let owner = canonicalName(name);
  for (;;) {
    const own = byOwner.get(owner) ?? [];
    const records = own.filter((record) => recordType(record.data) === type);
    if (records.length > 0) return { records, aliases, isEndless: false };
    const alias = own.find(({ data }) => data.type === 'CNAME')?.data;
    const target = alias?.type === 'CNAME' ? canonicalOfRead(alias.target) : undefined;
    if (target === undefined) return { records: [], aliases, isEndless: false };
    if (aliases.includes(target) || aliases.length >= ALIASES_MAX) return { records: [], aliases, isEndless: true };
    aliases.push(target);
    owner = target;
  }
}

export const leastTtl = (records: readonly DnsRecord[]): number => Math.min(...records.map((record) => record.ttl));

/** Index by owner, so that each name is visited once, however many aliases are followed. */
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

function recordText(data: RecordData): string {
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
    case 'TLSA':
      return recordValue(data);
    case 'opaque':
      return data.bytes.toString('hex', 0, OPAQUE_BYTES_MAX);
  }
}
