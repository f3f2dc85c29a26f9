/** A place that a party holds; parties are addresses of clients. */
export interface Place {
  /** Undefined for what belongs to no stranger, which never makes way. */
  party: string | undefined;
  /** Lower ones make way first; undefined counts for its party, and stays. */
  rank: number | undefined;
}

/**
 * The place that makes way for a newcomer: of the party that holds most, if that is more than the newcomer holds, the lowest
 * rank, and of those the first of `places`. So no party keeps out one that holds fewer, however many parties there are.
 */
export function whoMakesWay<P>(
  places: Iterable<P>,
  look: (place: P) => Place,
  newcomer: string | undefined,
): P | undefined {
  const parties = new Map<string, Party<P>>();
  for (const place of places) {
    const { party, rank = Infinity } = look(place);
    if (party === undefined) continue;
    const known = parties.get(party) ?? { count: 0, rank: Infinity, place: undefined };
    known.count++;
    if (rank < known.rank) Object.assign(known, { rank, place });
    parties.set(party, known);
  }
  const held = newcomer === undefined ? 0 : (parties.get(newcomer)?.count ?? 0);
  let most: Party<P> = { count: held + 1, rank: Infinity, place: undefined };
  for (const party of parties.values()) {
    if (party.place === undefined) continue;
    if (party.count > most.count || (party.count === most.count && party.rank < most.rank)) most = party;
  }
  return most.place;
}

interface Party<P> {
  count: number;
  rank: number;
  place: P | undefined;
}
