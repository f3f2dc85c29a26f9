/** How long a step may last without a byte from the peer. */
export interface SmtpTimeouts {
  connectMs: number;
  greetingMs: number;
  ehloMs: number;
  startTlsMs: number;
  mailMs: number;
  rcptMs: number;
  dataMs: number;
  dataBlockMs: number;
  /** Giving up early after the dot turns a slow delivery into an ambiguous one. */
  dataDoneMs: number;
  rsetMs: number;
  quitMs: number;
}

/** RFC 5321 §4.5.3.2; connecting, RSET and QUIT are ours to choose. */
export const RFC_TIMEOUTS: SmtpTimeouts = {
  connectMs: 30_000,
  greetingMs: 300_000,
  ehloMs: 300_000,
  startTlsMs: 120_000,
  mailMs: 300_000,
  rcptMs: 300_000,
  dataMs: 120_000,
  dataBlockMs: 180_000,
  dataDoneMs: 600_000,
  rsetMs: 20_000,
  quitMs: 2_000,
};
