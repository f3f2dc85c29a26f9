/**
 * The party of a delivery, by which connections are shared: a team with its transactional mail is one party, and the same team
 * with its marketing mail another, which comes after the first. Everything in this folder that shares or waits goes by party.
 */
export const partyOf = ({ teamId, isMarketing }: { teamId: string; isMarketing?: boolean }): string =>
  isMarketing ? teamId + MARKETING : teamId;

/** Of a party of marketing mail, the party of the same team's transactional mail, which goes first. */
export const partyBefore = (party: string): string | undefined =>
  party.endsWith(MARKETING) ? party.slice(0, -MARKETING.length) : undefined;

const MARKETING = ' marketing';
