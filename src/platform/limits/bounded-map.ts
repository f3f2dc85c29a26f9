interface Entry<Key, Value> {
  key: Key;
  value: Value;
  older: Entry<Key, Value> | undefined;
  newer: Entry<Key, Value> | undefined;
  isGone: boolean;
}

/**
 * A map whose entries weigh at most `max` together, 1 each where no `weigh` is given: one more makes it forget the oldest.
 * `set` makes an entry the newest, also one that is there; a map whose readers set what they found forgets the least recently
 * used. An entry that is too heavy for the whole map empties it and is not kept: a caller that expects such does not set them.
 *
 * The order is a list of its own. To delete and insert an entry again would leave a hole in its bucket of a built-in map each
 * time, through which every later look-up of the entry has to go.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;
  readonly #weigh: ((value: Value) => number) | undefined;
  #weight = 0;
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  #oldest: Entry<Key, Value> | undefined;
  #newest: Entry<Key, Value> | undefined;

  constructor(max: number, weigh?: (value: Value) => number) {
    super();
    this.#max = max;
    this.#weigh = weigh;
  }

  /** The weight of all entries together. */
  get weight(): number {
    return this.#weigh ? this.#weight : this.size;
  }

  override get size(): number {
    return this.#entries.size;
  }

  override has(key: Key): boolean {
    return this.#entries.has(key);
  }

  override get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  override set(key: Key, value: Value): this {
    let entry = this.#entries.get(key);
    if (entry) {
      this.#weight -= this.#weigh?.(entry.value) ?? 0;
      entry.value = value;
      this.#unlink(entry);
    } else {
      entry = { key, value, older: undefined, newer: undefined, isGone: false };
      this.#entries.set(key, entry);
    }
    this.#append(entry);
    this.#weight += this.#weigh?.(value) ?? 0;
    while (this.#oldest && this.weight > this.#max) this.delete(this.#oldest.key);
    return this;
  }

  override delete(key: Key): boolean {
    const entry = this.#entries.get(key);
    if (!entry) return false;
    this.#weight -= this.#weigh?.(entry.value) ?? 0;
    this.#entries.delete(key);
    this.#unlink(entry);
    entry.isGone = true;
    return true;
  }

  override clear(): void {
    for (let entry = this.#oldest; entry; entry = entry.newer) entry.isGone = true;
    this.#entries.clear();
    this.#weight = 0;
    this.#oldest = undefined;
    this.#newest = undefined;
  }

  override forEach(call: (value: Value, key: Key, map: Map<Key, Value>) => void): void {
    for (const [key, value] of this) call(value, key, this);
  }

  override *entries(): MapIterator<[Key, Value]> {
    for (let entry = this.#oldest; entry; entry = entry.newer) if (!entry.isGone) yield [entry.key, entry.value];
  }

  override *keys(): MapIterator<Key> {
    for (const [key] of this) yield key;
  }

  override *values(): MapIterator<Value> {
    for (const [, value] of this) yield value;
  }

  override [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.entries();
  }

  #append(entry: Entry<Key, Value>): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
  }

  /** Takes an entry out of the order. It still leads to the newer ones, for a reader that is at it. */
  #unlink({ older, newer }: Entry<Key, Value>): void {
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
  }
}
