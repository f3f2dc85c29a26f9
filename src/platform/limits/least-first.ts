const SMALLEST = 16;

/**
 * Places in a row, each with a number, in which the first place from a given one on whose number is at most a bound is found
 * in logarithmic time: a tree in which each node has the least number below it.
 */
export class LeastFirst {
  #size = SMALLEST;
  /** Node 1 is the root; the children of a node n are 2n and 2n + 1. */
  #least = new Float64Array(2 * SMALLEST).fill(Infinity);

  get size(): number {
    return this.#size;
  }

  /** Makes places for a number of members, all of them empty. */
  reset(members: number): void {
    this.#size = SMALLEST;
    while (this.#size < members) this.#size *= 2;
    this.#least = new Float64Array(2 * this.#size).fill(Infinity);
  }

  /** Sets the number of a place; an empty place has an infinite one. */
  set(place: number, number: number): void {
    const least = this.#least;
    let node = this.#size + place;
    least[node] = number;
    for (node >>= 1; node > 0; node >>= 1) least[node] = Math.min(least[2 * node]!, least[2 * node + 1]!);
  }

  /** Returns the first place from `from` on whose number is at most the bound; -1 if there is none. */
  find(from: number, bound: number): number {
    const least = this.#least;
    if (from >= this.#size) return -1;
    let node = this.#size + from;
    // Climbs to the first subtree to the right that has such a place, then descends in it.
    while (!(least[node]! <= bound)) {
      while (node % 2 === 1) node >>= 1;
      if (node === 0) return -1;
      node++;
    }
    while (node < this.#size) node = least[2 * node]! <= bound ? 2 * node : 2 * node + 1;
    return node - this.#size;
  }
}
