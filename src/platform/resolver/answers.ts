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

export interface CaaRecord {
  /** 128: an authority that does not know the tag must not issue (RFC 8659 §4.1). */
  flags: number;
  tag: string;
  value: string;
}

export interface SoaRecord {
  primary: string;
  serial: number;
  /** How long the absence of a name is remembered at most (RFC 2308 §4). */
  minimumSeconds: number;
}
