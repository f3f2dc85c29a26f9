import type { Section } from './catalog.ts';

export type Command =
  | { kind: 'quit' }
  | { kind: 'help' }
  | { kind: 'section'; section: Section; rest: string }
  | { kind: 'action'; label: string }
  | { kind: 'ambiguous'; word: string; words: readonly string[] }
  | { kind: 'surplus'; label: string }
  | { kind: 'unknown'; word: string };

const OWN = ['help', 'quit'];

/** A line behind `:`. A section may be followed by a filter, or by the id of one of its items. */
export function readCommand(line: string, sections: readonly Section[], labels: readonly string[]): Command {
  const [word = '', ...rest] = line.trim().split(/\s+/);
  if (word === '') return { kind: 'help' };
  if (['q', 'q!', 'quit', 'exit'].includes(word)) return { kind: 'quit' };
  if (word === 'help') return { kind: 'help' };
  if (labels.includes(line.trim())) return { kind: 'action', label: line.trim() };
  const named = sections.filter(({ name }) => name.startsWith(word));
  const section = named.find(({ name }) => name === word) ?? (named.length === 1 ? named[0] : undefined);
  if (section) return { kind: 'section', section, rest: rest.join(' ') };
  const starts = labels.filter((label) => label.startsWith(line.trim()));
  if (starts.length === 1 && starts[0] !== undefined) return { kind: 'action', label: starts[0] };
  const surplus = labels.find((label) => line.trim().startsWith(`${label} `));
  if (surplus !== undefined) return { kind: 'surplus', label: surplus };
  const words = completions(line.trim(), sections, labels);
  return words.length > 0 ? { kind: 'ambiguous', word: line.trim(), words } : { kind: 'unknown', word };
}

/** What a line may become. */
export function completions(line: string, sections: readonly Section[], labels: readonly string[]): string[] {
  const words = [...sections.map(({ name }) => name), ...labels, ...OWN];
  return [...new Set(words)].filter((word) => word.startsWith(line));
}

/** What the last word of a filter may become: a name, or behind one a value. */
export function filterCompletions(text: string, names: Readonly<Record<string, readonly string[]>>): string[] {
  const [, before = '', last = ''] = /^(.*?)(\S*)$/s.exec(text) ?? [];
  const words = Object.entries(names).flatMap(([name, values]) =>
    last.startsWith(`${name}=`) ? values.map((value) => `${name}=${value}`) : [`${name}=`],
  );
  return words.filter((word) => word.startsWith(last) && word !== last).map((word) => before + word);
}

/** As much as all of them have in common. */
export function commonStart(words: readonly string[]): string {
  const [first = '', ...others] = words;
  let length = first.length;
  for (const word of others) while (!word.startsWith(first.slice(0, length))) length--;
  return first.slice(0, length);
}
