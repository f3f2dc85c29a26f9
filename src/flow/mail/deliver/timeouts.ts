/** How long a step may last: without a byte from the peer, unless it says more. */
export interface SmtpTimeouts {
  connectMs: number;
  greetingMs: number;
  ehloMs: number;
  startTlsMs: number;
  mailMs: number;
  rcptMs: number;
  dataMs: number;
  /** From MAIL to the answer to DATA: however soon each reply comes, a transaction does not last for hours. */
  envelopeMs: number;
  dataBlockMs: number;
  /** What content may take, whatever its size, … */
  contentMs: number;
  /** … and the rate at which it has to be taken beyond that. */
  contentBytesPerSecond: number;
  /** Giving up early after the dot turns a slow delivery into an ambiguous one. */
  dataDoneMs: number;
  rsetMs: number;
  quitMs: number;
}

/** RFC 5321 §4.5.3.2; connecting, RSET, QUIT and what a transaction may take in all are ours to choose. */
export const RFC_TIMEOUTS: SmtpTimeouts = {
  connectMs: 30_000,
  greetingMs: 300_000,
  ehloMs: 300_000,
  startTlsMs: 120_000,
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
