import {
  canonicalName,
  DnsFormatError,
  RCODES,
  type RecordData,
  type RecordTypeName,
  type TlsaRecord,
} from '../../protocol/dns/index.ts';
import { createSemaphore, type Semaphore } from '../limits/index.ts';
import { exchange, findRecords, leastTtl, readServer, type Exchanged } from './exchange.ts';
import { createYieldBetween } from './inspector.ts';
import {
  addressLiteral,
  CACHE_BYTES_MAX,
  canonical,
  createSharedLookUps,
  withinSize,
  type Addresses,
  type LookupFailure,
  type MxRecord,
} from './resolver.ts';

/** An answer with what the resolver says about its authenticity. */
export type SecureLookup<T> =
  | { kind: 'found'; records: T; ttlSeconds?: number; isSecure: boolean; canonicalName: string }
  | {
      kind: 'none';
      why: 'nxdomain' | 'nodata';
      /** DNSSEC proves that there is no such record. */
      isSecure: boolean;
      /** The name at the end of the CNAME chain, lower case without the final dot. */
      canonicalName: string;
    }
  /** servfail: no server could answer, or the answer is bogus, which DNSSEC does not tell apart. */
  | LookupFailure;

export type SelfTestResult =
  | { kind: 'validates' }
  /** The resolver believes what is forged. */
  | { kind: 'does_not_validate'; detail: string }
  /**
   * The resolver rejects records that are authentic, or that somebody changed on their way to it. It believes nothing
   * that is forged, so nothing that it proved before is in doubt.
   */
  | { kind: 'rejects_signed'; detail: string }
  /** Neither is proven, because a test name could not be looked up at all, for example without a network. */
  | { kind: 'unanswered'; name: 'signed' | 'bogus'; detail: string };

/** Looks up records for DANE. An answer is secure if DNSSEC proves each part of it, including the aliases. */
export interface SecureLookUps {
  mx(domain: string): Promise<SecureLookup<MxRecord[]>>;
  /**
   * Returns what one family has if the look-up of the other fails; it is secure if all answers are. An IP address is its
   * own, and insecure.
   */
  addresses(host: string): Promise<SecureLookup<Addresses>>;
  /** The target of an alias; it is secure or not by itself, wherever the alias leads. */
  cname(name: string): Promise<SecureLookup<string[]>>;
  tlsa(name: string): Promise<SecureLookup<TlsaRecord[]>>;
}

export interface SecureResolver extends SecureLookUps {
  /** Looks up within the limit of a tenant: name servers that never answer keep nobody waiting but those whose mail goes there. */
  forTenant(tenant: string): SecureLookUps;
  /** Checks that the resolver marks authentic answers and rejects bogus ones. */
  selfTest(): Promise<SelfTestResult>;
  /** Checks the first half of that: returns undefined if the resolver answers and marks the signed name as authentic. */
  testSigned(): Promise<SelfTestResult | undefined>;
  /** Look-ups in progress end as failed. */
  close(): void;
}

export interface SecureResolverOptions {
  /**
   * 'ip' or 'ip:port' of a validating resolver. Its word is taken for everything, so the path to it must be trustworthy:
   * on this machine, best of all.
   */
  server: string;
  timeoutMs: number;
  tries: number;
  now: () => number;
  /** Memory for cached answers. */
  cacheBytesMax?: number;
  /** A name in a signed zone, and one in a zone whose signatures are wrong. */
  testNames?: { signed: string; bogus: string };
}

/** Limits sockets: look-ups above it wait. */
const AT_A_TIME = 256;
/** The limit of one tenant. */
const OF_TENANT_MAX = 32;

/** dnssec-failed.org is operated by Comcast for this purpose. */
const TEST_NAMES = { signed: '.', bogus: 'dnssec-failed.org' };

export function createSecureResolver(options: SecureResolverOptions): SecureResolver {
  const { timeoutMs, tries, testNames = TEST_NAMES } = options;
  const server = readServer(options.server);
  const gate = createSemaphore(AT_A_TIME);
  const gates = new Map<string, Semaphore>();
  const stop = new AbortController();
  const { signal } = stop;
  const budget = { allows: () => true, yieldBetween: createYieldBetween() };
  const lookUps = createSharedLookUps({ now: options.now, bytesMax: options.cacheBytesMax ?? CACHE_BYTES_MAX });

  const send = async (
    name: string,
    type: RecordTypeName,
    { tenant = '', isUnchecked = false }: { tenant?: string; isUnchecked?: boolean } = {},
  ): Promise<Exchanged> => {
    const question = { name, type, recursionDesired: true, authenticData: true, checkingDisabled: isUnchecked };
    const own = gates.get(tenant) ?? createSemaphore(OF_TENANT_MAX);
    gates.set(tenant, own);
    try {
      const work = () => exchange(server, question, { timeoutMs, tries, signal, budget });
      return await own.run(() => gate.run(work, { signal, tenant }), { signal });
    } catch (error) {
      if (signal.aborted) return { kind: 'failed', reason: 'stopped' };
      throw error;
    } finally {
      if (own.used + own.waiting === 0) gates.delete(tenant);
    }
  };

  const ask = <T>(
    type: RecordTypeName,
    { name, tenant }: { name: string; tenant: string },
    read: ReadData<T>,
  ): Promise<SecureLookup<T[]>> => {
    const asked = canonical(name);
    if (!isWritable(asked)) {
      return Promise.resolve({ kind: 'none', why: 'nxdomain', isSecure: false, canonicalName: asked });
    }
    const query = async (): Promise<SecureLookup<T[]>> =>
      withinSize(readExchanged(await send(asked, type, { tenant }), asked, type, read));
    return lookUps.look(`${type} ${asked}`, query, { tenant });
  };

  /** Looks up a test name. A servfail says that the resolver rejects its records, which do exist. */
  const probe = async (name: string, type: RecordTypeName): Promise<SecureLookup<RecordData[]>> => {
    const read: ReadData<RecordData> = (data) => data;
    const answer = readExchanged(await send(name, type), name, type, read);
    if (answer.kind !== 'failed' || answer.reason !== 'servfail') return answer;
    const unchecked = readExchanged(await send(name, type, { isUnchecked: true }), name, type, read);
    return unchecked.kind === 'failed' ? { kind: 'failed', reason: 'unreachable' } : answer;
  };

  async function testSigned(): Promise<SelfTestResult | undefined> {
    const { signed: name } = testNames;
    const answer = await probe(name, 'SOA');
    if (answer.kind !== 'failed')
      return answer.isSecure ? undefined : doesNotValidate(`it does not mark the signed name ${name} as authentic`);
    return answer.reason === 'servfail'
      ? { kind: 'rejects_signed', detail: `it rejects the signed name ${name}` }
      : { kind: 'unanswered', name: 'signed', detail: explainUnanswered(name, answer.reason) };
  }

  async function testBogus(): Promise<SelfTestResult> {
    const { bogus: name } = testNames;
    const answer = await probe(name, 'A');
    if (answer.kind === 'found') return doesNotValidate(`it accepts the name ${name}, whose signatures are wrong`);
    if (answer.kind === 'failed' && answer.reason === 'servfail') return { kind: 'validates' };
    const why = answer.kind === 'none' ? answer.why : answer.reason;
    return { kind: 'unanswered', name: 'bogus', detail: explainUnanswered(name, why) };
  }

  const lookUpFor = (tenant: string): SecureLookUps => ({
    mx: (domain) =>
      ask('MX', { name: domain, tenant }, (data) =>
        data.type === 'MX' ? { preference: data.priority, host: canonical(data.exchange) } : undefined,
      ),
    async addresses(host) {
      const name = canonical(host);
      const literal = addressLiteral(name);
      if (literal) return { kind: 'found', records: literal, isSecure: false, canonicalName: name };
      const [a, aaaa] = await Promise.all([
        ask('A', { name: host, tenant }, readAddress),
        ask('AAAA', { name: host, tenant }, readAddress),
      ]);
      return bothFamilies(a, aaaa);
    },
    cname: (name) =>
      ask('CNAME', { name, tenant }, (data) => (data.type === 'CNAME' ? canonical(data.target) : undefined)),
    tlsa: (name) =>
      ask('TLSA', { name, tenant }, (data) => {
        if (data.type !== 'TLSA') return undefined;
        const { usage, selector, matching, association } = data;
        return { usage, selector, matching, association };
      }),
  });

  return {
    ...lookUpFor(''),
    forTenant: lookUpFor,
    testSigned,
    selfTest: async () => (await testSigned()) ?? testBogus(),
    close() {
      stop.abort();
      lookUps.clear();
    },
  };
}

/** Returns undefined for data of another type. */
type ReadData<T> = (data: RecordData) => T | undefined;

const readAddress: ReadData<string> = (data) => (data.type === 'A' || data.type === 'AAAA' ? data.address : undefined);

function readExchanged<T>(
  exchanged: Exchanged,
  name: string,
  type: RecordTypeName,
  read: ReadData<T>,
): SecureLookup<T[]> {
  if (exchanged.kind === 'failed') return exchanged;
  const { message } = exchanged;
  switch (message.rcode) {
    case RCODES.NOERROR:
    case RCODES.NXDOMAIN:
      break;
    case RCODES.SERVFAIL:
      return { kind: 'failed', reason: 'servfail' };
    case RCODES.REFUSED:
      return { kind: 'failed', reason: 'refused' };
    default:
      return { kind: 'failed', reason: 'malformed' };
  }
  const { records, aliases, isEndless } = findRecords(message, name, type);
  if (isEndless) return { kind: 'failed', reason: 'malformed' };
  const authenticity = { isSecure: message.authenticData, canonicalName: aliases.at(-1) ?? name };
  if (records.length === 0) {
    return { kind: 'none', why: message.rcode === RCODES.NXDOMAIN ? 'nxdomain' : 'nodata', ...authenticity };
  }
  const values = records.map(({ data }) => read(data));
  // A record without data must not pass for its absence.
  if (!values.every((value) => value !== undefined)) return { kind: 'failed', reason: 'malformed' };
  return { kind: 'found', records: values, ttlSeconds: leastTtl(message.answers), ...authenticity };
}

/**
 * A failure in one family does not make the host insecure: otherwise whoever suppresses one of the answers could switch
 * DANE off.
 */
function bothFamilies(a: SecureLookup<string[]>, aaaa: SecureLookup<string[]>): SecureLookup<Addresses> {
  const isSecure = [a, aaaa].every((answer) => answer.kind === 'failed' || answer.isSecure);
  const records = { v4: a.kind === 'found' ? a.records : [], v6: aaaa.kind === 'found' ? aaaa.records : [] };
  if (a.kind === 'found') return { kind: 'found', records, isSecure, canonicalName: a.canonicalName };
  if (aaaa.kind === 'found') return { kind: 'found', records, isSecure, canonicalName: aaaa.canonicalName };
  if (a.kind === 'failed') return a;
  if (aaaa.kind === 'failed') return aaaa;
  const why = a.why === 'nxdomain' || aaaa.why === 'nxdomain' ? 'nxdomain' : 'nodata';
  return { kind: 'none', why, isSecure, canonicalName: a.canonicalName };
}

/** A name that no message can contain, such as one with a label of 64 bytes, does not exist. */
function isWritable(name: string): boolean {
  try {
    canonicalName(name);
    return true;
  } catch (error) {
    if (error instanceof DnsFormatError) return false;
    throw error;
  }
}

const doesNotValidate = (detail: string): SelfTestResult => ({ kind: 'does_not_validate', detail });

const explainUnanswered = (name: string, reason: string): string =>
  `the test name ${name} could not be looked up (${reason})`;
