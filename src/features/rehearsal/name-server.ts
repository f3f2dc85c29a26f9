import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import {
  decodeMessage,
  encodeMessage,
  DnsFormatError,
  RCODES,
  RECORD_TYPES,
  toRecordData,
  typeName,
  type DnsMessage,
  type RecordData,
} from '../../protocol/dns/index.ts';

export interface PublishedRecord {
  name: string;
  type: 'A' | 'AAAA' | 'MX' | 'TXT' | 'CNAME' | 'CAA' | 'PTR';
  value: string;
  /** MX only. */
  priority?: number | null;
}

export interface NameServer {
  /** `127.0.0.1:port`. */
  server: string;
  /** Adds records to those of their names. */
  publish(records: readonly PublishedRecord[]): void;
  /** Removes all records of a name. */
  remove(name: string): void;
  close(): Promise<void>;
}

const ADDRESS = '127.0.0.1';
/** Without EDNS (RFC 1035 §4.2.1). */
const PLAIN_UDP_BYTES = 512;
const TRIES = 10;

/**
 * Starts a name server on loopback, over UDP and TCP on one port, which knows only what is published. `findFault` may
 * answer for a name with a failure instead. Records live for `ttlSeconds`.
 */
export async function startNameServer(
  findFault: (name: string) => 'SERVFAIL' | 'NXDOMAIN' | undefined,
  ttlSeconds = 60,
): Promise<NameServer> {
  const names = new Map<string, RecordData[]>();
  const sockets = new Set<Socket>();

  function answer(query: Buffer, bytesMax: number): Buffer | undefined {
    let asked: DnsMessage;
    try {
      asked = decodeMessage(query);
    } catch (error) {
      if (error instanceof DnsFormatError) return undefined;
      throw error;
    }
    const [question] = asked.questions;
    if (asked.isAnswer || !question) return undefined;
    const name = question.name.toLowerCase().replace(/\.$/, '');
    const fault = findFault(name);
    const reply: DnsMessage = {
      ...asked,
      isAnswer: true,
      recursionAvailable: true,
      authenticData: false,
      authorities: [],
      additionals: [],
      rcode: fault ? RCODES[fault] : names.has(name) ? RCODES.NOERROR : RCODES.NXDOMAIN,
      answers: fault ? [] : find(name, typeName(question.type)),
    };
    const edns = asked.additionals.find(({ data }) => data.type === 'opaque' && data.number === RECORD_TYPES.OPT);
    const bytes = encodeMessage(reply, { compress: true });
    if (bytes.length <= Math.min(bytesMax, Math.max(PLAIN_UDP_BYTES, edns?.class ?? 0)) || bytesMax === Infinity)
      return bytes;
    return encodeMessage({ ...reply, truncated: true, answers: [] });
  }

  function find(name: string, type: string, links = 0): DnsMessage['answers'] {
    const found = names.get(name) ?? [];
    const own = found.filter((data) => data.type === type);
    const records = (own.length > 0 ? own : found.filter((data) => data.type === 'CNAME')).map((data) => ({
      name,
      class: 1,
      ttl: ttlSeconds,
      data,
    }));
    const [alias] = records;
    if (own.length > 0 || alias?.data.type !== 'CNAME' || links > 8) return records;
    return [...records, ...find(alias.data.target.toLowerCase().replace(/\.$/, ''), type, links + 1)];
  }

  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    let pending: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
        const end = 2 + pending.readUInt16BE(0);
        const reply = answer(pending.subarray(2, end), Infinity);
        pending = pending.subarray(end);
        if (!reply) return void socket.destroy();
        const length = Buffer.alloc(2);
        length.writeUInt16BE(reply.length);
        socket.write(Buffer.concat([length, reply]));
      }
    });
  });
  const udp = createSocket('udp4');
  let isClosed = false;
  udp.on('message', (query, from) => {
    const reply = answer(query, 4096);
    if (reply && !isClosed) udp.send(reply, from.port, from.address);
  });
  const port = await listenOnOnePort(tcp, udp);
  return {
    server: `${ADDRESS}:${port}`,
    publish(records) {
      for (const record of records) {
        const name = record.name.toLowerCase().replace(/\.$/, '');
        names.set(name, [...(names.get(name) ?? []), toData(record)]);
        // A name with names below it exists (RFC 8020).
        const labels = name.split('.');
        for (let at = 1; at < labels.length; at += 1) {
          const above = labels.slice(at).join('.');
          if (!names.has(above)) names.set(above, []);
        }
      }
    },
    remove: (name) => void names.delete(name.toLowerCase().replace(/\.$/, '')),
    async close() {
      isClosed = true;
      for (const socket of sockets) socket.destroy();
      await Promise.all([
        new Promise<void>((done) => tcp.close(() => done())),
        new Promise<void>((done) => udp.close(() => done())),
      ]);
    },
  };
}

function toData({ name, type, value, priority = null }: PublishedRecord): RecordData {
  if (type === 'A' || type === 'AAAA') return { type, address: value };
  if (type === 'PTR') return { type, target: value };
  return toRecordData({ name, type, value, priority });
}

/** A free TCP port may be in use for UDP: then another one is tried. */
async function listenOnOnePort(tcp: Server, udp: UdpSocket): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    await new Promise<void>((done, fail) => tcp.once('error', fail).listen(0, ADDRESS, () => done()));
    const { port } = tcp.address() as AddressInfo;
    try {
      await new Promise<void>((done, fail) => {
        udp.once('error', fail);
        udp.bind(port, ADDRESS, () => {
          udp.off('error', fail);
          done();
        });
      });
      return port;
    } catch (error) {
      await new Promise<void>((done) => tcp.close(() => done()));
      if (tries === TRIES) throw error;
    }
  }
}
