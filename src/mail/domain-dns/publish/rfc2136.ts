import type { Clock } from '../../../platform/clock.ts';
import type { Log } from '../../../platform/log/index.ts';
import {
  addRecord,
  CLASSES,
  decodeMessage,
  deleteRecord,
  DnsFormatError,
  nameIsUnused,
  plainRecord,
  toRecordData,
  sameNames,
  questionMessage,
  RCODES,
  rcodeName,
  recordSetIs,
  recordSetIsAbsent,
  signatureError,
  signMessage,
  updateMessage,
  verifyMessage,
  type DnsMessage,
  type DnsRecord,
  type Prerequisite,
  type RecordData,
  type RecordTypeName,
  type TsigKey,
} from '../../../protocol/dns/index.ts';
import { ProviderFault, zoneAmong, type DnsProvider, type ZoneChange, type ZoneRecord } from './provider.ts';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';

export interface DnsServer {
  address: string;
  port: number;
}

interface Patience {
  timeoutMs: number;
  clock: Pick<Clock, 'timer'>;
}

class NoDnsAnswer extends Error {
  override readonly name = 'NoDnsAnswer';
}

/**
 * Sends one message and returns the first reply over UDP that `isAnswer` accepts; ignores all other datagrams. Sends
 * the message `tries` times, `timeoutMs` apart.
 */
function askOverUdp(
  { address, port }: DnsServer,
  message: Buffer,
  isAnswer: (bytes: Buffer) => boolean,
  { timeoutMs, tries, clock }: Patience & { tries: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    let sent = 0;
    let cancel = (): void => {};
    let isOver = false;
    const finish = (done: () => void): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      socket.removeAllListeners('message');
      socket.close();
      done();
    };
    const fail = (error: Error): void => finish(() => reject(error));
    const send = (): void => {
      if (sent++ === tries) {
        return fail(new NoDnsAnswer(`it did not respond over UDP within ${tries} × ${timeoutMs} ms`));
      }
      socket.send(message);
      cancel = clock.timer(timeoutMs, send);
    };
    // A port without a listener causes an error at once if ICMP gets through.
    socket.on('error', (error) => fail(new NoDnsAnswer(`UDP failed: ${error.message}`)));
    socket.on('message', (bytes) => {
      if (isAnswer(bytes)) finish(() => resolve(bytes));
    });
    // A connected socket receives from this server only. If there is no route, only the callback reports it.
    socket.connect(port, address, (error?: Error) => {
      if (error) fail(new NoDnsAnswer(`UDP failed: ${error.message}`));
      else send();
    });
  });
}

/**
 * Sends one message and reads its reply over a connection of its own (RFC 7766 §8: two bytes of length before each).
 */
function askOverTcp({ address, port }: DnsServer, message: Buffer, { timeoutMs, clock }: Patience): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port });
    const chunks: Buffer[] = [];
    let received = 0;
    const cancel = clock.timer(timeoutMs, () =>
      fail(new NoDnsAnswer(`it did not respond over TCP within ${timeoutMs} ms`)),
    );
    const finish = (done: () => void): void => {
      cancel();
      socket.destroy();
      done();
    };
    const fail = (error: Error): void => finish(() => reject(error));
    socket.once('connect', () => socket.write(framed(message)));
    socket.on('error', (error) => fail(new NoDnsAnswer(`TCP failed: ${error.message}`)));
    socket.on('end', () => fail(new NoDnsAnswer('it closed the connection without a response')));
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      received += chunk.length;
      if (received < 2) return;
      const all = Buffer.concat(chunks);
      const length = all.readUInt16BE(0);
      if (received >= 2 + length) finish(() => resolve(all.subarray(2, 2 + length)));
    });
  });
}

function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

interface Rfc2136Options {
  name: string;
  zones: readonly string[];
  key(): TsigKey;
  /** The primary server; resolved each time, because a host name may move. */
  server(): Promise<DnsServer>;
  timeoutMs: number;
  tries: number;
  /** Clock for the time in signatures, which the server checks and we check, and for timeouts. */
  clock: Clock;
  /** For faults that only the operator can fix. */
  log: Log;
  randomId(): number;
}

interface Exchanging extends Rfc2136Options {
  noteRefusedKey(key: TsigKey, error: string): void;
}

const UDP_BYTES_MAX = 1232;

/**
 * Client of dynamic updates: signs every message, verifies every reply, and binds every update to what was read before.
 */
export function createRfc2136(given: Rfc2136Options): DnsProvider {
  const { name } = given;
  let isNoted = false;
  const noteRefusedKey = (key: TsigKey, error: string): void => {
    const what = { provider: name, keyName: key.name, algorithm: key.algorithm, error };
    // The queries of one use are sent together and all refused alike.
    if (!isNoted) given.log.error(what, 'the server of a dns provider refuses its key');
    isNoted = true;
  };
  const options: Exchanging = { ...given, noteRefusedKey };
  return {
    name,
    findZone: (domain) => Promise.resolve(zoneAmong(name, options.zones, domain)),
    async recordsAt(zone, queries) {
      const server = await options.server();
      const questions = queries.flatMap((query) => query.types.map((type) => ({ name: query.name, type })));
      const found = await Promise.all(questions.map((question) => recordsFor(options, server, zone, question)));
      return found.flat();
    },
    async apply(zone, change) {
      const server = await options.server();
      const message = updateMessage(options.randomId(), zone, buildPrerequisites(change), buildChanges(change));
      // Over TCP, because an update that is sent twice would fail its own prerequisites.
      const answer = await signedExchange(options, message, (bytes) => askOverTcp(server, bytes, options), {
        nothingChanged: false,
      });
      mustHaveUpdated(name, zone, answer.rcode);
    },
  };
}

async function recordsFor(
  options: Exchanging,
  server: DnsServer,
  zone: string,
  question: { name: string; type: string },
): Promise<ZoneRecord[]> {
  const type = question.type as RecordTypeName;
  const message = questionMessage(options.randomId(), question.name, type, {
    recursionDesired: false,
    udpBytesMax: UDP_BYTES_MAX,
  });
  const ask = async (bytes: Buffer): Promise<Buffer> => {
    const isReply = (answer: Buffer): boolean => answer.length >= 12 && answer.readUInt16BE(0) === message.id;
    const answer = await askOverUdp(server, bytes, isReply, options);
    // A truncated reply is not used, whatever it contains.
    return isTruncated(answer) ? askOverTcp(server, bytes, options) : answer;
  };
  const answer = await signedExchange(options, message, ask, { nothingChanged: true });
  if (answer.rcode === RCODES.NXDOMAIN) return [];
  if (answer.rcode !== RCODES.NOERROR) {
    throw refused(options.name, `returned ${rcodeName(answer.rcode)} for ${question.name}`);
  }
  // Below a delegation, and for zones it does not have, a server knows nothing for certain.
  if (!answer.authoritative) throw refused(options.name, `is not authoritative for ${question.name} in ${zone}`);
  return answer.answers
    .filter((record) => record.class === CLASSES.IN && sameNames(record.name, question.name))
    .map((record) => ({ ...plainRecord(record), ttl: record.ttl, handle: record.data }))
    .filter((record) => record.type === question.type);
}

const isTruncated = (bytes: Buffer): boolean => ((bytes[2] ?? 0) & 0x02) !== 0;

/** Exchanges signed messages. Trusts nothing in an unsigned reply, least of all that an update was made. */
async function signedExchange(
  options: Exchanging,
  message: DnsMessage,
  ask: (bytes: Buffer) => Promise<Buffer>,
  fate: { nothingChanged: boolean },
): Promise<DnsMessage> {
  const key = options.key();
  const signed = signMessage(message, key, Math.floor(options.clock.now() / 1000));
  let bytes: Buffer;
  try {
    bytes = await ask(signed.bytes);
  } catch (error) {
    if (!(error instanceof NoDnsAnswer)) throw error;
    const say = `The server of the DNS provider ${options.name} cannot be queried: ${error.message}.`;
    throw new ProviderFault('unavailable', say, { ...fate, because: error });
  }
  const verdict = verifyMessage(bytes, key, Math.floor(options.clock.now() / 1000), signed.mac);
  if (!verdict.ok) {
    const told = unsignedError(bytes);
    if (told !== undefined) {
      // The reply is not signed, so it cannot be trusted to say whether an update was made.
      const { message: say } = refusedKey(options.name, key, told);
      options.noteRefusedKey(key, told);
      throw new ProviderFault('refused', say, fate);
    }
    const say = `The response of the DNS provider ${options.name} cannot be trusted. ${verdict.fault}`;
    throw new ProviderFault('unavailable', say, { ...fate, because: unsignedRcode(bytes) });
  }
  if (!verdict.message.isAnswer || verdict.message.id !== message.id || verdict.message.opcode !== message.opcode) {
    const say = `The DNS provider ${options.name} returned a response to a different query.`;
    throw new ProviderFault('unavailable', say, fate);
  }
  return verdict.message;
}

/**
 * Returns the error that a server reports about our signature, in a reply it cannot sign (RFC 8945 §5.3.2): an unknown
 * key, or a secret or algorithm that differs. Waiting would not help.
 */
function unsignedError(bytes: Buffer): 'BADKEY' | 'BADSIG' | undefined {
  try {
    const error = signatureError(decodeMessage(bytes));
    if (error === RCODES.BADKEY) return 'BADKEY';
    return error === RCODES.BADSIG ? 'BADSIG' : undefined;
  } catch (error) {
    if (error instanceof DnsFormatError) return undefined;
    throw error;
  }
}

const refusedKey = (provider: string, { name, algorithm }: TsigKey, error: 'BADKEY' | 'BADSIG'): ProviderFault => {
  const what =
    error === 'BADKEY'
      ? `does not know the key ${name} with ${algorithm} (BADKEY), so key_name or key_algorithm differs from the configuration of the server`
      : `rejects the signature with the key ${name} (BADSIG), so the secret or key_algorithm differs from the configuration of the server`;
  return refused(provider, what);
};

function unsignedRcode(bytes: Buffer): string {
  try {
    return `without a valid signature, it returned ${rcodeName(decodeMessage(bytes).rcode)}`;
  } catch (error) {
    if (error instanceof DnsFormatError) return error.message;
    throw error;
  }
}

/**
 * Builds the prerequisites of a change: every record set that it touches, and every CNAME that would hide it, has to be
 * as it was seen (RFC 2136 §2.4).
 */
function buildPrerequisites({ deletes, creates, queries, seen }: ZoneChange): Prerequisite[] {
  const touched = [...deletes, ...creates];
  return queries
    .filter((query) => touched.some((record) => sameNames(record.name, query.name)))
    .flatMap((query) => {
      const here = seen.filter((record) => sameNames(record.name, query.name));
      // For a new CNAME, no record of any type may exist at the name.
      const isAlias = creates.some((record) => record.type === 'CNAME' && sameNames(record.name, query.name));
      if (isAlias && here.length === 0) return [nameIsUnused(query.name)];
      const types = touched.filter((record) => sameNames(record.name, query.name)).map((record) => record.type);
      return [...new Set(['CNAME', ...types])].map((type) => {
        const set = here.filter((record) => record.type === type).map((record) => record.handle as RecordData);
        return set.length > 0 ? recordSetIs(query.name, set) : recordSetIsAbsent(query.name, type as RecordTypeName);
      });
    });
}

const buildChanges = ({ deletes, creates }: ZoneChange): DnsRecord[] => [
  ...deletes.map((record) => deleteRecord(record.name, record.handle as RecordData)),
  ...creates.map((record) => addRecord(record.name, record.ttl, toRecordData(record))),
];

const UNMET: readonly number[] = [RCODES.NXRRSET, RCODES.YXRRSET, RCODES.NXDOMAIN, RCODES.YXDOMAIN];

function mustHaveUpdated(provider: string, zone: string, rcode: number): void {
  if (rcode === RCODES.NOERROR) return;
  if (UNMET.includes(rcode)) {
    const say = `The zone ${zone} changed while its records were compared; nothing was changed. Try again.`;
    throw new ProviderFault('changed', say, { nothingChanged: true, because: rcodeName(rcode) });
  }
  if (rcode === RCODES.SERVFAIL) {
    const say = `The DNS provider ${provider} returned SERVFAIL for the update of ${zone}; try again later.`;
    throw new ProviderFault('unavailable', say, { nothingChanged: true });
  }
  throw refused(provider, `returned ${rcodeName(rcode)} for the update of ${zone}`);
}

const refused = (provider: string, what: string): ProviderFault =>
  new ProviderFault('refused', `The DNS provider ${provider} ${what}; ask the operator to check it.`, {
    nothingChanged: true,
  });
