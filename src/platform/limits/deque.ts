/**
 * A line that is joined at both ends and left at the front. Each step takes constant time on average; `shift` of an array
 * moves all the others.
 */
export class Deque<T> {
  /** The items that were put in front, in reverse order. */
  readonly #front: T[] = [];
  #items: T[] = [];
  /** Number of items at the beginning of `#items` that have left. */
  #left = 0;

  get length(): number {
    return this.#front.length + this.#items.length - this.#left;
  }

  get first(): T | undefined {
    return this.#front.length > 0 ? this.#front.at(-1) : this.#items[this.#left];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  unshift(item: T): void {
    this.#front.push(item);
  }

  shift(): T | undefined {
    if (this.#front.length > 0) return this.#front.pop();
    const item = this.#items[this.#left];
    if (this.#left === this.#items.length) return undefined;
    this.#left++;
    // Items that have left are dropped once they are the half, so that each is moved once on average.
    if (2 * this.#left >= this.#items.length) {
      this.#items = this.#items.slice(this.#left);
      this.#left = 0;
    }
    return item;
  }

  /** Removes and returns the first item for which `is` returns true; undefined if there is none. */
  remove(is: (item: T) => boolean): T | undefined {
    const inFront = this.#front.findLastIndex(is);
    if (inFront >= 0) return this.#front.splice(inFront, 1)[0];
    for (let at = this.#left; at < this.#items.length; at++)
      if (is(this.#items[at]!)) return this.#items.splice(at, 1)[0];
    return undefined;
  }
}
