import { createSocket } from 'node:dgram';
import { createServer, type Socket } from 'node:net';
import {
  CLASSES,
  decodeMessage,
  encodeMessage,
  isSamePlain,
  isWithin,
  OPCODES,
  plainRecord,
  RCODES,
  RECORD_TYPES,
  sameNames,
  signMessage,
  typeName,
  verifyMessage,
  zoneEntry,
  type DnsMessage,
  type DnsRecord,
  type TsigKey,
} from '../../src/protocol/dns/index.ts';
import { listenOnSamePort } from './same-port.ts';

/** How the server misbehaves from now on. */
export interface UpdateFaults {
  /** Does not answer over UDP, or at all. */
  silent?: 'udp' | 'both';
  /** Answers over UDP with the truncation bit, and this many records fewer. */
  truncates?: boolean;
  /** Breaks the TCP connection instead of answering. */
  breaksTcp?: boolean;
  /** How it falsifies the signature of its answers. */
  signature?: 'wrong' | 'none' | 'old' | 'other request';
  /** Answers with this code to every update, signed, and does nothing. */
  updateCode?: number;
  isNotAuthoritative?: boolean;
  /** Runs between the last query and the update. */
  beforeUpdate?: () => void;
  /** Awaited before an update is processed, while its sender waits. */
  holdUpdate?: () => Promise<void>;
}

export interface UpdateServer extends AsyncDisposable {
  port: number;
  key: TsigKey;
  records: DnsRecord[];
  /** Returns the zone as sorted lines. */
  lines(): string[];
  faults: UpdateFaults;
  /** Every message that arrived with a valid signature. */
  heard: { over: 'udp' | 'tcp'; message: DnsMessage }[];
  close(): Promise<void>;
}

/** Starts a primary name server in memory that accepts signed updates as RFC 2136 §3 defines. The real one is BIND, in test/peers. */
export async function startUpdateServer(zone: string): Promise<UpdateServer> {
  const key: TsigKey = { name: 'rasket-key', algorithm: 'hmac-sha256', secret: Buffer.alloc(32, 9) };
  const sockets = new Set<Socket>();
  const server: UpdateServer = {
    port: 0,
    key,
    records: [],
    faults: {},
    heard: [],
    lines: () => server.records.map(zoneEntry).sort(),
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all([
        new Promise<void>((done) => tcp.close(() => done())),
        new Promise<void>((done) => udp.close(() => done())),
      ]);
    },
    [Symbol.asyncDispose]: () => server.close(),
  };

  const answer = (bytes: Buffer, over: 'udp' | 'tcp'): Buffer | undefined => {
    const { silent, truncates, signature, isNotAuthoritative } = server.faults;
    if (silent === 'both' || (silent === 'udp' && over === 'udp')) return undefined;
    const now = Math.floor(Date.now() / 1000);
    const verdict = verifyMessage(bytes, key, now);
    const blank: DnsMessage = {
      ...decodeMessage(bytes),
      isAnswer: true,
      additionals: [],
      answers: [],
      authorities: [],
    };
    if (!verdict.ok) return encodeMessage({ ...blank, rcode: RCODES.NOTAUTH });
    const { message } = verdict;
    server.heard.push({ over, message });
    const reply: DnsMessage = { ...blank, authoritative: isNotAuthoritative !== true };
    if (message.opcode === OPCODES.update) reply.rcode = update(server, zone, message);
    else if (!isWithin(message.questions[0]?.name ?? '.', zone)) reply.rcode = RCODES.REFUSED;
    else reply.answers = answersTo(server.records, message);
    if (truncates && over === 'udp') Object.assign(reply, { truncated: true, answers: [] });
    if (signature === 'none') return encodeMessage(reply);
    const requestMac = signature === 'other request' ? Buffer.alloc(32) : macIn(bytes);
    const signed = signMessage(reply, key, signature === 'old' ? now - 1000 : now, requestMac).bytes;
    // The tenth byte from the end belongs to the MAC.
    if (signature === 'wrong') signed[signed.length - 10] = (signed[signed.length - 10] ?? 0) ^ 1;
    return signed;
  };

  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let pending: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      pending = Buffer.concat([pending, chunk]);
      if (pending.length < 2 || pending.length < 2 + pending.readUInt16BE(0)) return;
      void answerTcp(socket, pending.subarray(2));
    });
  });
  const answerTcp = async (socket: Socket, bytes: Buffer): Promise<void> => {
    if (decodeMessage(bytes).opcode === OPCODES.update) await server.faults.holdUpdate?.();
    const reply = answer(bytes, 'tcp');
    if (server.faults.breaksTcp) return void socket.destroy();
    if (!reply) return;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(reply.length);
    socket.write(Buffer.concat([length, reply]));
  };
  const udp = createSocket('udp4');
  udp.on('message', (bytes, from) => {
    const reply = answer(bytes, 'udp');
    if (reply) udp.send(reply, from.port, from.address);
  });
  server.port = await listenOnSamePort(tcp, udp, '127.0.0.1');
  return server;
}

function answersTo(records: readonly DnsRecord[], { questions }: DnsMessage): DnsRecord[] {
  const [asked] = questions;
  if (!asked) return [];
  return records.filter(
    (record) => sameNames(record.name, asked.name) && plainRecord(record).type === typeName(asked.type),
  );
}

function update(server: UpdateServer, zone: string, message: DnsMessage): number {
  server.faults.beforeUpdate?.();
  if (server.faults.updateCode !== undefined) return server.faults.updateCode;
  if (!sameNames(message.questions[0]?.name ?? '', zone)) return RCODES.NOTAUTH;
  const unmet = unmetPrerequisite(server.records, message.answers);
  if (unmet !== undefined) return unmet;
  for (const change of message.authorities) {
    const plain = plainRecord(change);
    if (change.class === CLASSES.NONE) {
      server.records = server.records.filter((record) => !isSamePlain(plainRecord(record), plain));
    } else if (change.class === CLASSES.IN) {
      server.records.push(change);
    } else {
      return RCODES.FORMERR;
    }
  }
  return RCODES.NOERROR;
}

function unmetPrerequisite(records: readonly DnsRecord[], prerequisites: readonly DnsRecord[]): number | undefined {
  const findSet = (name: string, type: string) =>
    records.filter((record) => sameNames(record.name, name) && plainRecord(record).type === type).map(plainRecord);
  for (const one of prerequisites) {
    const { type } = plainRecord(one);
    if (one.class === CLASSES.NONE) {
      if (type === typeName(RECORD_TYPES.ANY) && records.some((record) => sameNames(record.name, one.name))) {
        return RCODES.YXDOMAIN;
      }
      if (findSet(one.name, type).length > 0) return RCODES.YXRRSET;
      continue;
    }
    const wanted = prerequisites
      .filter((other) => other.class === CLASSES.IN && sameNames(other.name, one.name))
      .map(plainRecord)
      .filter((other) => other.type === type);
    const there = findSet(one.name, type);
    if (wanted.length !== there.length || !wanted.every((each) => there.some((has) => isSamePlain(each, has)))) {
      return RCODES.NXRRSET;
    }
  }
  return undefined;
}

/** Returns the MAC of a request that has 32 bytes of it and no other data. */
const macIn = (bytes: Buffer): Buffer => bytes.subarray(bytes.length - 6 - 32, bytes.length - 6);
