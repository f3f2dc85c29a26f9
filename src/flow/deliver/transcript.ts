import type { Reply } from '../../protocol/smtp-reply/index.ts';

const ENTRIES_MAX = 40;
const LINE_CHARS_MAX = 300;

/**
 * The last steps of a session, for the log of a failed delivery. It holds commands and replies, never message content,
 * and puts them into words only when somebody asks, because almost nobody does.
 */
export class Transcript {
  #entries: (string | Reply)[] = [];
  #next = 0;

  add(entry: string | Reply): void {
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % ENTRIES_MAX;
  }

  lines(): string[] {
    const inOrder = [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
    return inOrder.flatMap(inWords).slice(-ENTRIES_MAX);
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
