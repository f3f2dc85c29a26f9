/** Beyond, the turns begin anew. */
const KEPT_MAX = 10_000;

export interface Turns {
  /** Whose last turn is longest ago comes first. */
  inTurn<Item>(items: readonly Item[], whoOf: (item: Item) => string): Item[];
  /** These had their turn. */
  took(who: Iterable<string>): void;
}

/** Who had a turn when, so that a long backlog of one keeps no other waiting. A new process begins anew. */
export function createTurns(): Turns {
  const turns = new Map<string, number>();
  let turn = 0;
  return {
    inTurn: (items, whoOf) => items.toSorted((a, b) => (turns.get(whoOf(a)) ?? 0) - (turns.get(whoOf(b)) ?? 0)),
    took(who) {
      if (turns.size > KEPT_MAX) turns.clear();
      for (const one of who) turns.set(one, ++turn);
    },
  };
}
