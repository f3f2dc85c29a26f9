/**
 * A map whose entries weigh at most `max` together, 1 each where no `weigh` is given: one more makes it forget the oldest.
 * `set` makes an entry the newest, also one that is there; a map whose readers set what they found forgets the least recently
 * used. An entry that is too heavy for the whole map empties it and is not kept: a caller that expects such does not set them.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;
  readonly #weigh: ((value: Value) => number) | undefined;
  #weight = 0;
  /**
   * Stays at the oldest entry. To begin at the front for each would pass all that were deleted there since the table of
   * the map was made. It must not rest for long: an iterator keeps every table alive that the map has had since.
   */
  #oldest: Iterator<Key> | undefined;
  /** Counts entries that were set since the iterator was made. */
  #setsSince = 0;

  constructor(max: number, weigh?: (value: Value) => number) {
    super();
    this.#max = max;
    this.#weigh = weigh;
  }

  /** The weight of all entries together. */
  get weight(): number {
    return this.#weigh ? this.#weight : this.size;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    this.#weight += this.#weigh?.(value) ?? 0;
    if (++this.#setsSince > this.size) {
      this.#oldest = undefined;
      this.#setsSince = 0;
    }
    while (this.weight > this.#max) {
      this.#oldest ??= this.keys();
      const { value: oldest, done } = this.#oldest.next();
      if (done) this.clear();
      else this.delete(oldest);
    }
    return this;
  }

  override delete(key: Key): boolean {
    if (this.#weigh && this.has(key)) this.#weight -= this.#weigh(this.get(key) as Value);
    return super.delete(key);
  }

  override clear(): void {
    super.clear();
    this.#weight = 0;
    this.#oldest = undefined;
    this.#setsSince = 0;
  }
}
