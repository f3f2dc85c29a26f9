/** What `deliveries.lane` says: how urgent a delivery is. Lanes with lower numbers are claimed from first. */
export const LANES = ['transactional', 'marketing', 'retrying', 'retrying_marketing'] as const;
export type LaneName = (typeof LANES)[number];
export type Lane = 0 | 1 | 2 | 3;

export const laneNumber = (name: LaneName): Lane => LANES.indexOf(name) as Lane;

/** A retry after a failure of the destination keeps its kind: marketing stays behind transactional mail there, too. */
const RETRYING = 2;
export const isMarketing = (lane: number): boolean => (lane & 1) === 1;
export const isRetrying = (lane: number): boolean => (lane & RETRYING) !== 0;

/** SQL for the lane of a row once its destination has failed, or has not. */
export const laneSql = (becomes: 'usual' | 'retrying'): string =>
  becomes === 'retrying' ? `(lane & 1) + ${RETRYING}` : 'lane & 1';

interface LaneWeight {
  /**
   * While lanes before this one have more due than a claim takes, one delivery of this lane is begun for so many of theirs: an
   * attempt that fails costs as much as one that succeeds.
   */
  othersForOne: number;
  /** A claim takes so many at most, so that mail that has just been accepted never waits for a long claim. */
  claimMax: number;
}

/** The weights of the lanes, in their order. */
export const WEIGHTS: Readonly<Record<LaneName, LaneWeight>> = {
  transactional: { othersForOne: 1, claimMax: 200 },
  marketing: { othersForOne: 4, claimMax: 100 },
  retrying: { othersForOne: 20, claimMax: 20 },
  retrying_marketing: { othersForOne: 40, claimMax: 20 },
};
