export interface FetchLimits {
  /** Ends the fetch when it fires. There is no time limit but this one. */
  signal: AbortSignal;
  /** Asked before bytes are kept, or once with the length the other side announces; false ends the fetch. */
  mayTake: (bytes: number) => boolean;
}

/**
 * What a caller may be told. `blocked` says no more than that: an address that is refused, a name that does not exist and
 * a redirect to either read alike, or our network could be mapped by asking.
 */
export type FetchFault =
  | { kind: 'blocked' }
  | { kind: 'unreachable' }
  /** `code` is OpenSSL's or Node's name for what is wrong with the certificate or the handshake. */
  | { kind: 'tls'; code: string }
  | { kind: 'status'; status: number }
  | { kind: 'too_many_redirects'; max: number }
  | { kind: 'encoded'; encoding: string }
  | { kind: 'too_large' }
  | { kind: 'interrupted' }
  | { kind: 'timeout' };

export type FetchAnswer =
  | { kind: 'fetched'; content: Buffer }
  /** `because` is for the log alone. */
  | {
      kind: 'failed';
      fault: FetchFault;
      because?: unknown;
      /** The name has no address. Only in development may a caller learn of it. */
      hasNoAddress?: boolean;
    };
