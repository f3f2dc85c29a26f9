import { createFairShare } from '../../platform/limits/index.ts';
import { isBulk } from './lanes.ts';

interface Where {
  team_id: string;
  destination: string;
  lane: number;
}

/** Teams, destinations, and destinations of one team that are at their in-flight limit. */
export interface AtLimit {
  teams: string[];
  destinations: string[];
  /** Destinations of one team, each as team and destination with a space between. */
  pairs: string[];
}

/**
 * Counts deliveries in flight, and limits them by team, by destination, and by destination of a team. Bulk mail
 * counts separately, as if it were another team's to another destination: however much of it is in flight,
 * transactional mail is claimed.
 */
export interface InFlight {
  readonly isEmpty: boolean;
  readonly count: number;
  /**
   * Number of deliveries that may be claimed now: so few that a claim never takes all remaining slots, even if all of
   * it is one team's.
   */
  readonly free: number;
  /**
   * A team may have as many in flight as are free, and so may a destination. A destination of one team may have as many
   * as the team's remaining share, so that a slow destination never delays the other mail of the same team.
   */
  atLimit(lane: number): AtLimit | undefined;
  enter(delivery: Where): void;
  leave(delivery: Where): void;
}

/** A claim takes at most an eighth of the free slots: limits are checked before a claim, not within it. */
const CLAIM_SHARE = 8;

const APART = ' bulk';
const toStreamSuffix = (lane: number): string => (isBulk(lane) ? APART : '');
const toPairKey = ({ team_id: team, destination, lane }: Where): string =>
  `${team} ${destination}${toStreamSuffix(lane)}`;
/** Filters holders by the kind of `lane`, bulk or not, and removes the mark from their names. */
const ofKind = (holders: readonly string[], lane: number): string[] =>
  holders.filter((holder) => holder.endsWith(APART) === isBulk(lane)).map((holder) => withoutPart(holder));
const withoutPart = (holder: string): string => (holder.endsWith(APART) ? holder.slice(0, -APART.length) : holder);

export function createInFlight(countMax: number): InFlight {
  const teams = createFairShare(countMax);
  const destinations = createFairShare(countMax);
  const pairs = new Map<string, { team: string; count: number }>();
  return {
    get isEmpty() {
      return teams.used === 0;
    },
    get count() {
      return teams.used;
    },
    get free() {
      return Math.min(teams.free, Math.max(1, Math.floor(teams.free / CLAIM_SHARE)));
    },
    atLimit(lane) {
      // So few are in flight that no team, destination or pair can be at its limit.
      if (2 * teams.used < teams.free) return undefined;
      const full = [...pairs]
        .filter(([, pair]) => pair.count >= teams.free - teams.held(pair.team))
        .map(([key]) => key);
      const all = { teams: teams.atLimit(), destinations: destinations.atLimit(), pairs: full };
      const atLimit = {
        teams: ofKind(all.teams, lane),
        destinations: ofKind(all.destinations, lane),
        pairs: ofKind(all.pairs, lane),
      };
      return Object.values(atLimit).some((holders) => holders.length > 0) ? atLimit : undefined;
    },
    enter(delivery) {
      const part = toStreamSuffix(delivery.lane);
      teams.enter(delivery.team_id + part);
      destinations.enter(delivery.destination + part);
      const key = toPairKey(delivery);
      const pair = pairs.get(key);
      if (pair) pair.count++;
      else pairs.set(key, { team: delivery.team_id + part, count: 1 });
    },
    leave(delivery) {
      const part = toStreamSuffix(delivery.lane);
      teams.leave(delivery.team_id + part);
      destinations.leave(delivery.destination + part);
      const key = toPairKey(delivery);
      const pair = pairs.get(key);
      if (pair && --pair.count === 0) pairs.delete(key);
    },
  };
}
