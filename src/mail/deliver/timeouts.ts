/** Limits of the steps: how long the peer may be silent, unless a comment says otherwise. */
export interface SmtpTimeouts {
  connectMs: number;
  greetingMs: number;
  ehloMs: number;
  startTlsMs: number;
  /** Limit for each answer in the dialogue of AUTH. */
  loginMs: number;
  mailMs: number;
  rcptMs: number;
  dataMs: number;
  /** Limit from MAIL to the reply to DATA: replies that each arrive just in time cannot hold a transaction for hours. */
  envelopeMs: number;
  dataBlockMs: number;
  /** The base time for content of any size. */
  contentMs: number;
  /** The rate that adds to it by size. */
  contentBytesPerSecond: number;
  /** Giving up early after the dot turns a slow delivery into an ambiguous one. */
  dataDoneMs: number;
  rsetMs: number;
  quitMs: number;
}

/** Values of RFC 5321 §4.5.3.2, which leaves connecting, RSET, QUIT and the whole transaction to us. */
export const RFC_TIMEOUTS: SmtpTimeouts = {
  connectMs: 30_000,
  greetingMs: 300_000,
  ehloMs: 300_000,
  startTlsMs: 120_000,
  loginMs: 120_000,
  mailMs: 300_000,
  rcptMs: 300_000,
  dataMs: 120_000,
  envelopeMs: 600_000,
  dataBlockMs: 180_000,
  contentMs: 60_000,
  contentBytesPerSecond: 32 * 1024,
  dataDoneMs: 600_000,
  rsetMs: 20_000,
  quitMs: 2_000,
};
