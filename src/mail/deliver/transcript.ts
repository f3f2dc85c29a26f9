import type { Reply } from '../../protocol/smtp-reply/index.ts';

const ENTRIES_MAX = 40;
const LINES_MAX = 60;
const LINE_CHARS_MAX = 300;

/**
 * The dialogue of a session: its opening, and the last steps of the transaction under way. Steps of earlier messages
 * are dropped, since they may be another team's. Holds commands and replies, never message content, as text only on
 * demand.
 */
export class Transcript {
  #opening: (string | Reply)[] = [];
  #entries: (string | Reply)[] = [];
  #next = 0;
  #isOpening = true;
  /** The opening as text, made once for all messages of the connection: it is most of the dialogue. */
  #openingLines: string[] | undefined;

  add(entry: string | Reply): void {
    if (this.#isOpening) {
      if (this.#opening.length < ENTRIES_MAX) this.#opening.push(entry);
      return;
    }
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % ENTRIES_MAX;
  }

  /** A transaction begins: the steps of the one before it are forgotten. */
  begin(): void {
    this.#isOpening = false;
    this.#entries.length = 0;
    this.#next = 0;
  }

  lines(): string[] {
    const inOrder = [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
    const lines = [...this.#beginning(), ...inOrder.flatMap(inWords)];
    return lines.length > LINES_MAX ? lines.slice(-LINES_MAX) : lines;
  }

  #beginning(): string[] {
    if (this.#isOpening) return this.#opening.flatMap(inWords);
    return (this.#openingLines ??= this.#opening.flatMap(inWords));
  }
}

function inWords(entry: string | Reply): string[] {
  if (typeof entry === 'string') return shortened(entry.trimEnd().split('\r\n'), 'C:');
  const { code, enhanced, lines } = entry;
  const last = lines.length - 1;
  const status = enhanced === undefined ? '' : `${enhanced} `;
  return shortened(
    lines.map((line, index) => `${code}${index === last ? ' ' : '-'}${status}${line}`),
    'S:',
  );
}

function shortened(lines: string[], side: 'C:' | 'S:'): string[] {
  return lines.map((line) => `${side} ${line}`.slice(0, LINE_CHARS_MAX));
}
