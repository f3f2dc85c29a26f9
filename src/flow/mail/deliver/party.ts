/**
 * In whose name a delivery shares connections with others: a team's marketing mail is a party of its own, and comes after the
 * transactional mail of the same team.
 */
export const partyOf = ({ teamId, isMarketing }: { teamId: string; isMarketing?: boolean }): string =>
  isMarketing ? teamId + MARKETING : teamId;

/** The party that goes first, of a party that does not. */
export const partyBefore = (party: string): string | undefined =>
  party.endsWith(MARKETING) ? party.slice(0, -MARKETING.length) : undefined;

const MARKETING = ' marketing';
