import { createFairShare } from '../../../platform/fair-share/index.ts';

interface Where {
  team_id: string;
  destination: string;
}

/** Who may not take in more for now. */
export interface AtLimit {
  teams: string[];
  destinations: string[];
  /** Destinations of one team, each as `keyOf` writes it. */
  pairs: string[];
}

/** How much is under way, and how that is shared out among teams and destinations. */
export interface InFlight {
  readonly isEmpty: boolean;
  readonly count: number;
  /** How many may be taken in now, at most: few enough that they never use up what is left, whoever's they are. */
  readonly free: number;
  /**
   * Each team may hold as many as are free, and so may each destination; and a destination of one team as many as that
   * team may take in, so that a slow one never holds up the rest of its own team either.
   */
  atLimit(): AtLimit | undefined;
  enter(delivery: Where): void;
  leave(delivery: Where): void;
}

/** A claim takes no more than that share of what is free, or it could use up at once what its team has left. */
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
      // Nobody can hold as many as are free to its team.
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
