import { createFairShare } from '../../../platform/fair-share/index.ts';

interface Where {
  team_id: string;
  destination: string;
}

/** Teams, destinations, and destinations of one team that are at their in-flight limit. */
export interface AtLimit {
  teams: string[];
  destinations: string[];
  /** Destinations of one team, each as `keyOf` writes it. */
  pairs: string[];
}

/** Counts deliveries in flight, and limits them by team, by destination, and by destination of a team. */
export interface InFlight {
  readonly isEmpty: boolean;
  readonly count: number;
  /** How many may be claimed now: few enough that they never use up what is left, whichever team they belong to. */
  readonly free: number;
  /**
   * A team may have as many in flight as are free, and so may a destination. A destination of one team may have as many as
   * its team has left, so that a slow destination never holds up the other mail of the same team.
   */
  atLimit(): AtLimit | undefined;
  enter(delivery: Where): void;
  leave(delivery: Where): void;
}

/** A claim takes an eighth of what is free at most, or it could use up at once what its team has left. */
const CLAIM_SHARE = 8;

export const keyOf = ({ team_id: team, destination }: Where): string => `${team} ${destination}`;

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
    atLimit() {
      // So few are in flight that no team, destination or pair can be at its limit.
      if (2 * teams.used < teams.free) return undefined;
      const full = [...pairs]
        .filter(([, pair]) => pair.count >= teams.free - teams.held(pair.team))
        .map(([key]) => key);
      const atLimit = { teams: teams.atLimit(), destinations: destinations.atLimit(), pairs: full };
      return atLimit.teams.length + atLimit.destinations.length + full.length > 0 ? atLimit : undefined;
    },
    enter(delivery) {
      teams.enter(delivery.team_id);
      destinations.enter(delivery.destination);
      const key = keyOf(delivery);
      const pair = pairs.get(key);
      if (pair) pair.count++;
      else pairs.set(key, { team: delivery.team_id, count: 1 });
    },
    leave(delivery) {
      teams.leave(delivery.team_id);
      destinations.leave(delivery.destination);
      const key = keyOf(delivery);
      const pair = pairs.get(key);
      if (pair && --pair.count === 0) pairs.delete(key);
    },
  };
}
