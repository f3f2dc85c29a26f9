/** The limit of a rate of bounces or complaints. */
export interface RateLimit {
  /** The share in percent above which mailbox providers block a sender. */
  percent: number;
  /** The number of emails from which a share is judged; of fewer it proves nothing. */
  floor: number;
}

/** The limits of a server whose settings do not change them (`broadcasts.hold_…` in config/default.toml). */
export const RATE_LIMITS = {
  bounced: { percent: 5, floor: 200 },
  complained: { percent: 0.3, floor: 1000 },
} as const satisfies Readonly<Record<string, RateLimit>>;

/** Fewer bounces or complaints are an accident, whatever their share. */
export const SEVERAL = 3;

/** Reports whether a share of bad emails is too high. Findings and the console judge by this. */
export const isRateHigh = ({ bad, of }: { bad: number; of: number }, { percent, floor }: RateLimit): boolean =>
  of >= floor && bad >= SEVERAL && bad * 100 > percent * of;
