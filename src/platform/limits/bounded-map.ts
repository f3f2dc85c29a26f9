/**
 * A map that keeps at most `max` entries: one more makes it forget the oldest. `set` makes an entry the newest, also one that is
 * there; a map whose readers set what they found forgets the least recently used.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;
  /**
   * Stays at the oldest entry. To begin at the front for each would pass all that were deleted there since the table of
   * the map was made.
   */
  #oldest: Iterator<Key> | undefined;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    if (this.size <= this.#max) return this;
    this.#oldest ??= this.keys();
    const { value: oldest, done } = this.#oldest.next();
    if (!done) this.delete(oldest);
    return this;
  }

  override clear(): void {
    super.clear();
    this.#oldest = undefined;
  }
}
