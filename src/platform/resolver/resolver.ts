import { Resolver as NodeResolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Answer } from '../../protocol/dns-diagnosis/index.ts';
import { reverseName } from '../../protocol/dnsbl.ts';
import type { RecordTypeName } from '../../protocol/dns/index.ts';
import { getServers } from 'node:dns';
import { BoundedMap } from '../limits/index.ts';

/** Approximate overhead in memory of a list, an object or a string. */
const HEADER_BYTES = 40;

/**
 * Estimates the size in memory of plain data. It stops counting above `max`, so that far too large values cost no more
 * than slightly too large ones.
 */
function weigh(value: unknown, max = Infinity): number {
  if (typeof value === 'string') return HEADER_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (value instanceof Uint8Array) return HEADER_BYTES + value.length;
  let bytes = HEADER_BYTES;
  for (const part of Array.isArray(value) ? value : Object.values(value)) {
    bytes += weigh(part, max - bytes);
    if (bytes > max) break;
  }
  return bytes;
}

interface LookUpCacheOptions {
  now: () => number;
  /** Limit for all keys and answers together. */
  bytesMax: number;
}

const POSITIVE_MS = 60_000;
const NEGATIVE_MS = 30_000;
const POSITIVE_MS_MAX = 300_000;
/** Typical answers have some hundred bytes; larger ones are cheaper to query again than to keep. */
const ENTRY_BYTES_MAX = 16 * 1024;
/** Interval at which expired entries are dropped. */
const TIDY_MS = 30_000;

interface Entry {
  answer: Lookup<unknown>;
  until: number;
  bytes: number;
}

interface LookUpCache {
  readonly bytes: number;
  get(key: string): Lookup<unknown> | undefined;
  put(key: string, answer: Lookup<unknown>): void;
  clear(): void;
}

/** Failures are not cached: a caller that asks again wants to know whether the name server has recovered. */
export function createLookUpCache({ now, bytesMax }: LookUpCacheOptions): LookUpCache {
  const entries = new BoundedMap<string, Entry>(bytesMax, (entry) => entry.bytes);
  let tidyAt = 0;
  const tidy = (): void => {
    if (now() < tidyAt) return;
    tidyAt = now() + TIDY_MS;
    for (const [key, { until }] of entries) if (until <= now()) entries.delete(key);
  };
  return {
    get bytes() {
      return entries.weight;
    },
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      if (entry.until > now()) return entry.answer;
      entries.delete(key);
      return undefined;
    },
    put(key, answer) {
      // The cached answer is older than this one, so drop it even if this one is not cached.
      if (answer.kind !== 'failed') entries.delete(key);
      tidy();
      const weight = weigh([key, answer], ENTRY_BYTES_MAX);
      if (answer.kind === 'failed' || weight > ENTRY_BYTES_MAX) return;
      entries.set(key, { answer, until: now() + lifetimeMs(answer), bytes: weight });
    },
    clear: () => entries.clear(),
  };
}

function lifetimeMs(answer: Lookup<unknown>): number {
  if (answer.kind !== 'found') return NEGATIVE_MS;
  if (answer.ttlSeconds === undefined) return POSITIVE_MS;
  return Math.min(answer.ttlSeconds * 1000, POSITIVE_MS_MAX);
}

export interface SharedLookUps {
  /** Returns the cached answer for the key, or that of the look-up in progress, or begins one. */
  look<L extends Lookup<unknown>>(
    key: string,
    query: () => Promise<L>,
    options?: LookupOptions & { tenant?: string },
  ): Promise<L>;
  clear(): void;
}

/**
 * Caches answers, and asks once for callers with the same key. A key always stands for the same type of records. Tenants share
 * answers, and do not wait for each other's questions.
 */
export function createSharedLookUps(options: LookUpCacheOptions): SharedLookUps {
  const cache = createLookUpCache(options);
  const underWay = new Map<string, Promise<Lookup<unknown>>>();
  return {
    look<L extends Lookup<unknown>>(
      key: string,
      query: () => Promise<L>,
      wish?: LookupOptions & { tenant?: string },
    ): Promise<L> {
      const kept = wish?.cache === false ? undefined : cache.get(key);
      if (kept) return Promise.resolve(kept as L);
      const place = `${wish?.tenant ?? ''} ${key}`;
      const shared = underWay.get(place);
      if (shared) return shared as Promise<L>;
      const asked = query()
        .then((answer) => {
          cache.put(key, answer);
          return answer;
        })
        .finally(() => underWay.delete(place));
      underWay.set(place, asked);
      return asked;
    },
    clear: () => cache.clear(),
  };
}

interface PatientChannelOptions {
  servers: readonly string[];
  timeoutMs: number;
  tries: number;
}

/**
 * Queries the name servers, and waits for the configured time. The c-ares library measures how fast each server is and
 * soon waits only five times that, a quarter of a second for a fast one, which is too short if the server must fetch
 * the answer from far away. A query that it gives up early is repeated on a channel that has not measured anything.
 */
function createPatientChannel({ servers, timeoutMs, tries }: PatientChannelOptions) {
  const open = (times: number): NodeResolver => {
    const dns = new NodeResolver({ timeout: timeoutMs, tries: times });
    if (servers.length > 0) dns.setServers(servers);
    return dns;
  };
  const first = open(tries);
  /** Each with the number of its queries in progress. */
  const patient = new Map<NodeResolver, number>();
  /**
   * A channel without any answer so far, which therefore has measured nothing: thousands of queries to silent servers
   * share it.
   */
  let unmeasured: NodeResolver | undefined;
  let isClosed = false;
  const patientAsk = async <T>(query: (dns: NodeResolver) => Promise<T>): Promise<T> => {
    const dns = (unmeasured ??= open(1));
    patient.set(dns, (patient.get(dns) ?? 0) + 1);
    let isSilent = false;
    try {
      return await query(dns);
    } catch (error) {
      isSilent = isTimeout(error);
      throw error;
    } finally {
      const left = (patient.get(dns) ?? 1) - 1;
      if (left > 0) patient.set(dns, left);
      else patient.delete(dns);
      if (unmeasured === dns && (!isSilent || left === 0)) unmeasured = undefined;
    }
  };
  return {
    async ask<T>(query: (dns: NodeResolver) => Promise<T>): Promise<T> {
      const began = performance.now();
      try {
        return await query(first);
      } catch (error) {
        const isTooSoon = performance.now() - began < timeoutMs * tries - TIMER_MS;
        if (isClosed || !isTooSoon || !isTimeout(error)) throw error;
      }
      return patientAsk(query);
    },
    /** Queries in progress end as canceled. */
    close(): void {
      isClosed = true;
      first.cancel();
      for (const dns of patient.keys()) dns.cancel();
    },
  };
}

const isTimeout = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ETIMEOUT';

/** Timers may fire a little early. */
const TIMER_MS = 20;

export interface LookupOptions {
  /** false queries the name servers again, and caches the new answer. */
  cache?: boolean;
}

export interface Resolver {
  mx(domain: string, options?: LookupOptions): Promise<Lookup<MxRecord[]>>;
  addresses(host: string, options?: LookupOptions): Promise<Lookup<Addresses>>;
  /** One string per record: the parts of a record are joined without a space (RFC 7208 §3.3). */
  txt(name: string, options?: LookupOptions): Promise<Lookup<string[]>>;
  cname(name: string, options?: LookupOptions): Promise<Lookup<string[]>>;
  /**
   * RFC 8659: records of this name only; the closest ancestor that has any decides which authority may issue for it.
   */
  caa(name: string, options?: LookupOptions): Promise<Lookup<CaaRecord[]>>;
  ns(zone: string, options?: LookupOptions): Promise<Lookup<string[]>>;
  soa(zone: string, options?: LookupOptions): Promise<Lookup<SoaRecord>>;
  /** Look-ups in progress end as failed. */
  close(): void;
}

export interface ResolverOptions {
  /** 'ip' or 'ip:port'; empty for the system's name servers. */
  servers: string[];
  timeoutMs: number;
  tries: number;
  now?: () => number;
  /** Memory for cached answers. */
  cacheBytesMax?: number;
}

export const CACHE_BYTES_MAX = 16 * 1024 * 1024;
/**
 * Maximum size of one answer: a name with more is made to cause work for a resolver, and is not that of a mail server.
 */
const ANSWER_BYTES_MAX = 32 * 1024;

export function createResolver(options: ResolverOptions): Resolver {
  const channel = createPatientChannel(options);
  const lookUps = createSharedLookUps({
    now: options.now ?? Date.now,
    bytesMax: options.cacheBytesMax ?? CACHE_BYTES_MAX,
  });

  const ask = <T>(type: string, name: string, wish: LookupOptions | undefined, query: Query<T>): Promise<Lookup<T>> =>
    lookUps.look(
      `${type} ${name}`,
      () => channel.ask((dns) => query(dns, name)).then<Lookup<T>, Lookup<T>>(withinSize, explain),
      wish,
    );

  const v4: Query<string[]> = async (dns, name) => addressesFound(await dns.resolve4(name, { ttl: true }));
  const v6: Query<string[]> = async (dns, name) => addressesFound(await dns.resolve6(name, { ttl: true }));

  return {
    mx: (domain, wish) =>
      ask('MX', canonical(domain), wish, async (dns, name) => {
        const records = await dns.resolveMx(name);
        return found(records.map((mx) => ({ preference: mx.priority, host: canonical(mx.exchange) })));
      }),
    async addresses(host, wish) {
      const name = canonical(host);
      const literal = addressLiteral(name);
      if (literal) return found(literal);
      const [a, aaaa] = await Promise.all([ask('A', name, wish, v4), ask('AAAA', name, wish, v6)]);
      return bothFamilies(a, aaaa);
    },
    txt: (name, wish) =>
      ask('TXT', canonical(name), wish, async (dns, asked) => {
        const records = await dns.resolveTxt(asked);
        return found(records.map((parts) => parts.join('')));
      }),
    cname: (name, wish) =>
      ask('CNAME', canonical(name), wish, async (dns, asked) => found((await dns.resolveCname(asked)).map(canonical))),
    caa: (name, wish) =>
      ask('CAA', canonical(name), wish, async (dns, asked) => found(caaRecords(await dns.resolveCaa(asked)))),
    ns: (zone, wish) =>
      ask('NS', canonical(zone), wish, async (dns, asked) => found((await dns.resolveNs(asked)).map(canonical))),
    soa: (zone, wish) =>
      ask('SOA', canonical(zone), wish, async (dns, asked) => {
        const { nsname, serial, minttl } = await dns.resolveSoa(asked);
        return found({ primary: canonical(nsname), serial, minimumSeconds: minttl });
      }),
    close() {
      channel.close();
      lookUps.clear();
    },
  };
}

type Query<T> = (dns: NodeResolver, name: string) => Promise<Lookup<T>>;

export const withinSize = <L extends Lookup<unknown>>(answer: L): L | LookupFailure =>
  weigh(answer, ANSWER_BYTES_MAX) > ANSWER_BYTES_MAX ? { kind: 'failed', reason: 'malformed' } : answer;

/** Lower case, without the final dot. */
export function canonical(name: string): string {
  return name.replace(/\.$/, '').toLowerCase();
}

/** RFC 6761 §6.3: localhost never reaches a name server. */
export function addressLiteral(host: string): Addresses | undefined {
  if (host === 'localhost') return { v4: ['127.0.0.1'], v6: ['::1'] };
  const family = isIP(host);
  if (family === 0) return undefined;
  return family === 4 ? { v4: [host], v6: [] } : { v4: [], v6: [host] };
}

function addressesFound(records: { address: string; ttl: number }[]): Lookup<string[]> {
  const ttlSeconds = records.reduce((least, record) => Math.min(least, record.ttl), Infinity);
  return found(
    records.map((record) => record.address),
    Number.isFinite(ttlSeconds) ? ttlSeconds : undefined,
  );
}

/** Node returns each record as an object whose one additional key is the tag. */
function caaRecords(records: object[]): CaaRecord[] {
  return records.flatMap((record) => {
    const [tag, value] = Object.entries(record).find(([key]) => key !== 'critical' && key !== 'type') ?? [];
    if (tag === undefined) return [];
    return [
      { flags: Number((record as { critical?: unknown }).critical ?? 0), tag: tag.toLowerCase(), value: String(value) },
    ];
  });
}

function found<T>(records: T, ttlSeconds?: number): Lookup<T> {
  if (Array.isArray(records) && records.length === 0) return { kind: 'none', why: 'nodata' };
  return ttlSeconds === undefined ? { kind: 'found', records } : { kind: 'found', records, ttlSeconds };
}

/** One family with an answer is enough; "none" requires both, because a failed half may hide the only address. */
function bothFamilies(a: Lookup<string[]>, aaaa: Lookup<string[]>): Lookup<Addresses> {
  if (a.kind === 'found' || aaaa.kind === 'found') {
    return found({ v4: a.kind === 'found' ? a.records : [], v6: aaaa.kind === 'found' ? aaaa.records : [] });
  }
  if (a.kind === 'failed') return a;
  if (aaaa.kind === 'failed') return aaaa;
  return { kind: 'none', why: a.why === 'nxdomain' || aaaa.why === 'nxdomain' ? 'nxdomain' : 'nodata' };
}

function explain(cause: unknown): Lookup<never> {
  switch ((cause as NodeJS.ErrnoException).code) {
    case 'ENOTFOUND':
    // A name that no name server can hold, for example one with a label of 64 bytes, does not exist.
    case 'EBADNAME':
      return { kind: 'none', why: 'nxdomain' };
    case 'ENODATA':
      return { kind: 'none', why: 'nodata' };
    case 'ESERVFAIL':
      return { kind: 'failed', reason: 'servfail' };
    case 'EREFUSED':
      return { kind: 'failed', reason: 'refused' };
    case 'ETIMEOUT':
      return { kind: 'failed', reason: 'timeout' };
    case 'ECONNREFUSED':
      return { kind: 'failed', reason: 'unreachable' };
    case 'ECANCELLED':
    case 'EDESTRUCTION':
      return { kind: 'failed', reason: 'stopped' };
    case 'EFORMERR':
    case 'EBADRESP':
    case 'ENOTIMP':
    case 'EBADQUERY':
      return { kind: 'failed', reason: 'malformed' };
    default:
      return { kind: 'failed', reason: 'malformed' };
  }
}

const NAMES_MAX = 10;

/** The result of reverse DNS for an address: `confirmed` if one of its names leads back to it. */
export type ReverseDns =
  | { kind: 'confirmed'; name: string }
  | { kind: 'none' }
  | { kind: 'elsewhere'; names: string[] }
  | { kind: 'unknown'; names: string[]; reason: string };

/** Looks up the names of an address and the addresses of these names. */
export async function findReverseDns(
  ask: (name: string, type: RecordTypeName) => Promise<Answer>,
  address: string,
): Promise<ReverseDns> {
  const found = await ask(reverseName(address), 'PTR');
  if (found.kind === 'failed') return { kind: 'unknown', names: [], reason: found.reason };
  if (found.kind === 'none') return { kind: 'none' };
  const names = found.records.slice(0, NAMES_MAX);
  const answers = await Promise.all(names.map((name) => ask(name, address.includes(':') ? 'AAAA' : 'A')));
  for (const [index, answer] of answers.entries()) {
    const leadsBack = answer.kind === 'found' && answer.records.some((one) => isSameAddress(one, address));
    if (leadsBack) return { kind: 'confirmed', name: names[index] ?? '' };
  }
  const failed = answers.find((answer) => answer.kind === 'failed');
  if (failed?.kind === 'failed') return { kind: 'unknown', names, reason: failed.reason };
  return { kind: 'elsewhere', names };
}

/** Compares addresses, because one IPv6 address has many spellings. */
export const isSameAddress = (a: string, b: string): boolean => reverseName(a) === reverseName(b);

/** Lists the name servers of the system, as 'ip' or 'ip:port'. */
export const systemServers = (): string[] => getServers();

export type Lookup<T> =
  | { kind: 'found'; records: T; ttlSeconds?: number }
  /** nxdomain: the name does not exist. nodata: the name exists without such a record. */
  | { kind: 'none'; why: 'nxdomain' | 'nodata' }
  | LookupFailure;

export interface LookupFailure {
  kind: 'failed';
  reason: 'servfail' | 'refused' | 'timeout' | 'unreachable' | 'malformed' | 'stopped';
}

export interface MxRecord {
  preference: number;
  /** Lower case without the trailing dot; empty for a null MX (RFC 7505). */
  host: string;
}

export interface Addresses {
  v4: string[];
  v6: string[];
}

export interface CaaRecord {
  /** 128 (critical): an authority that does not know the tag must not issue (RFC 8659 §4.1). */
  flags: number;
  tag: string;
  value: string;
}

export interface SoaRecord {
  primary: string;
  serial: number;
  /** Maximum time for which the absence of a name is cached (RFC 2308 §4). */
  minimumSeconds: number;
}
