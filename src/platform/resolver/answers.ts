export type Lookup<T> =
  | { kind: 'found'; records: T; ttlSeconds?: number }
  /** nxdomain: nothing of that name exists. nodata: the name exists without such a record. */
  | { kind: 'none'; why: 'nxdomain' | 'nodata' }
  | { kind: 'failed'; reason: 'servfail' | 'refused' | 'timeout' | 'unreachable' | 'malformed' | 'stopped' };

export interface MxRecord {
  preference: number;
  /** Lower case without the trailing dot; empty for a null MX (RFC 7505). */
  host: string;
}

export interface Addresses {
  v4: string[];
  v6: string[];
}
