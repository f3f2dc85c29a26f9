/** A choice and its share. */
export interface Weighted {
  name: string;
  weight: number;
}

/**
 * Gives each of several choices its share of the turns, evenly: 3 and 1 are a, a, b, a. Choices that cannot have a turn
 * are left out and owe none later.
 */
export class WeightedTurns {
  #credits = new Map<string, number>();

  /** Orders the choices by whose turn it is. */
  order<Choice extends Weighted>(choices: readonly Choice[]): Choice[] {
    const credit = ({ name, weight }: Choice): number => (this.#credits.get(name) ?? 0) + weight;
    return choices.toSorted((a, b) => credit(b) - credit(a));
  }

  /** Gives one of the choices its turn. */
  take(chosen: Weighted, among: readonly Weighted[]): void {
    const total = among.reduce((sum, { weight }) => sum + weight, 0);
    for (const { name, weight } of among) this.#credits.set(name, (this.#credits.get(name) ?? 0) + weight);
    this.#credits.set(chosen.name, (this.#credits.get(chosen.name) ?? 0) - total);
  }

  /** Takes a turn back. */
  undo(chosen: Weighted, among: readonly Weighted[]): void {
    const total = among.reduce((sum, { weight }) => sum + weight, 0);
    for (const { name, weight } of among) this.#credits.set(name, (this.#credits.get(name) ?? 0) - weight);
    this.#credits.set(chosen.name, (this.#credits.get(chosen.name) ?? 0) + total);
  }
}
