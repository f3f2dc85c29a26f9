const KEPT = 100;

/** What was typed at a prompt, to be had again with ↑ and ↓. */
export class History {
  readonly #lines: string[] = [];
  /** Which of them is shown; behind the last stands what was being typed. */
  #at = 0;
  #unfinished = '';

  /** At what was typed last. */
  rewind(): void {
    this.#at = this.#lines.length;
  }

  add(line: string): void {
    if (line.trim() !== '' && line !== this.#lines.at(-1)) this.#lines.push(line);
    if (this.#lines.length > KEPT) this.#lines.shift();
    this.rewind();
  }

  step(key: 'up' | 'down', now: string): string {
    if (this.#at === this.#lines.length) this.#unfinished = now;
    this.#at = Math.max(0, Math.min(this.#lines.length, this.#at + (key === 'up' ? -1 : 1)));
    return this.#lines[this.#at] ?? this.#unfinished;
  }
}
