import { createSocket } from 'node:dgram';
import {
  CLASSES,
  decodeMessage,
  encodeMessage,
  RCODES,
  RECORD_TYPES,
  type DnsMessage,
  type RecordData,
} from '../../src/protocol/dns/index.ts';

/**
 * Says how the resolver answers for the two names that the server tests it with:
 * - passing: like one that validates,
 * - refusing: it answers REFUSED,
 * - rejecting: it calls the signed name bogus, as it does when somebody changes the answer on its way,
 * - believing: it returns the name whose signatures are wrong,
 * - unmarking: it marks nothing as authentic,
 * - lacking: it cannot look up the name whose signatures are wrong,
 * - silent: it answers nothing, whatever the name.
 */
export type ResolverManner = 'passing' | 'refusing' | 'rejecting' | 'believing' | 'unmarking' | 'lacking' | 'silent';

export interface MarkingResolver extends AsyncDisposable {
  /** The address in the form of `dns.dnssec_resolver`. */
  server: string;
  behave(manner: ResolverManner): void;
  /** The names of the test that were asked for. */
  tested: string[];
}

/** The serial and the times of an SOA record. */
const TIMES = { serial: 1, refresh: 60, retry: 60, expire: 60, minimum: 60 };

/**
 * Starts a resolver that marks its answers as authentic: each domain has the mail server mx.sink.test, which has TLSA
 * records that match no certificate if the test wants them.
 */
export async function startMarkingResolver({
  hasRecords = false,
  manner = 'passing' as ResolverManner,
} = {}): Promise<MarkingResolver> {
  let current = manner;
  const tested: string[] = [];
  const respondToTest = (name: string, isUnchecked: boolean): { rcode?: number; data?: RecordData } => {
    tested.push(name);
    if (current === 'refusing') return { rcode: RCODES.REFUSED };
    if (name !== 'dnssec-failed.org') {
      if (current === 'rejecting' && !isUnchecked) return { rcode: RCODES.SERVFAIL };
      return { data: { type: 'SOA', primary: 'ns.test', mailbox: 'admin.test', ...TIMES } };
    }
    if (current === 'lacking' || (current !== 'believing' && !isUnchecked)) return { rcode: RCODES.SERVFAIL };
    return { data: { type: 'A', address: '192.0.2.1' } };
  };
  const respond = (name: string, type: number, isUnchecked: boolean): { rcode?: number; data?: RecordData } => {
    if (name === 'dnssec-failed.org' || type === RECORD_TYPES.SOA) return respondToTest(name, isUnchecked);
    if (type === RECORD_TYPES.MX) return { data: { type: 'MX', priority: 10, exchange: 'mx.sink.test' } };
    if (type === RECORD_TYPES.A && name === 'mx.sink.test') return { data: { type: 'A', address: '127.0.0.1' } };
    if (type === RECORD_TYPES.TLSA && hasRecords)
      return { data: { type: 'TLSA', usage: 3, selector: 1, matching: 1, association: Buffer.alloc(32) } };
    return {};
  };
  const socket = createSocket('udp4');
  socket.on('message', (bytes, from) => {
    const asked = decodeMessage(bytes);
    const [question] = asked.questions;
    if (!question || current === 'silent') return;
    const { rcode = RCODES.NOERROR, data } = respond(question.name, question.type, asked.checkingDisabled);
    const reply: DnsMessage = {
      ...asked,
      isAnswer: true,
      recursionAvailable: true,
      authenticData: current !== 'unmarking',
      rcode,
      additionals: [],
      answers: data ? [{ name: question.name, class: CLASSES.IN, ttl: 60, data }] : [],
    };
    socket.send(encodeMessage(reply), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    server: `127.0.0.1:${socket.address().port}`,
    behave: (next): void => void (current = next),
    tested,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}
