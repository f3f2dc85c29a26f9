import type { Resolver as NodeResolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Addresses, CaaRecord, Lookup, MxRecord, SoaRecord } from './answers.ts';
import { createLookUpCache } from './look-up-cache.ts';
import { createPatientChannel } from './patient-channel.ts';
import { weigh } from './weigh.ts';

export interface LookupOptions {
  /** false asks the name servers again, and keeps the new answer. */
  cache?: boolean;
}

export interface Resolver {
  mx(domain: string, options?: LookupOptions): Promise<Lookup<MxRecord[]>>;
  addresses(host: string, options?: LookupOptions): Promise<Lookup<Addresses>>;
  /** One string per record: the parts of a record are joined without a space (RFC 7208 §3.3). */
  txt(name: string, options?: LookupOptions): Promise<Lookup<string[]>>;
  cname(name: string, options?: LookupOptions): Promise<Lookup<string[]>>;
  /** RFC 8659: of this name only; who may issue for it is said by the nearest name upwards that has any. */
  caa(name: string, options?: LookupOptions): Promise<Lookup<CaaRecord[]>>;
  ns(zone: string, options?: LookupOptions): Promise<Lookup<string[]>>;
  soa(zone: string, options?: LookupOptions): Promise<Lookup<SoaRecord>>;
  /** Look-ups under way end as failed. */
  close(): void;
}

export interface ResolverOptions {
  /** 'ip' or 'ip:port'; none means the system's name servers. */
  servers: string[];
  timeoutMs: number;
  tries: number;
  now?: () => number;
  /** Of the memory for answers. */
  cacheBytesMax?: number;
}

const CACHE_BYTES_MAX = 16 * 1024 * 1024;
/** Of one answer: a name with more than that is made to cost a resolver work, and is not that of a mail server. */
const ANSWER_BYTES_MAX = 32 * 1024;

export function createResolver(options: ResolverOptions): Resolver {
  const channel = createPatientChannel(options);
  const cache = createLookUpCache({
    now: options.now ?? Date.now,
    bytesMax: options.cacheBytesMax ?? CACHE_BYTES_MAX,
  });
  const underWay = new Map<string, Promise<Lookup<unknown>>>();

  const ask = <T>(type: string, name: string, wish: LookupOptions | undefined, query: Query<T>): Promise<Lookup<T>> => {
    const key = `${type} ${name}`;
    const kept = wish?.cache === false ? undefined : cache.get(key);
    // The key carries the type of record, so an entry under it always holds that type's records.
    if (kept) return Promise.resolve(kept as Lookup<T>);
    const shared = underWay.get(key);
    if (shared) return shared as Promise<Lookup<T>>;
    const asked = channel
      .ask((dns) => query(dns, name))
      .then(withinSize, explain)
      .then((answer) => {
        cache.put(key, answer);
        return answer;
      })
      .finally(() => underWay.delete(key));
    underWay.set(key, asked);
    return asked;
  };

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
      cache.clear();
    },
  };
}

type Query<T> = (dns: NodeResolver, name: string) => Promise<Lookup<T>>;

const withinSize = <T>(answer: Lookup<T>): Lookup<T> =>
  weigh(answer, ANSWER_BYTES_MAX) > ANSWER_BYTES_MAX ? { kind: 'failed', reason: 'malformed' } : answer;

function canonical(name: string): string {
  return name.replace(/\.$/, '').toLowerCase();
}

/** RFC 6761 §6.3: localhost never reaches a name server. */
function addressLiteral(host: string): Addresses | undefined {
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

/** Node gives each record as an object whose one odd key is the tag. */
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

/** One family that answers is enough; "none" needs both to say so, since a failed half may hide the only address. */
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
    // A name no name server could hold, for instance one with a label of 64 bytes, does not exist.
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
