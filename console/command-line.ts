import type { BoundAction, Section } from './catalog.ts';

export type Command =
  | { kind: 'quit' }
  | { kind: 'help' }
  | { kind: 'section'; section: Section; rest: string }
  | { kind: 'action'; label: string }
  | { kind: 'surplus'; label: string }
  | { kind: 'unknown'; word: string };

/** What a line behind `:` may mean, as it is offered. */
export interface Entry {
  name: string;
  /** The key that does the same without `:`. */
  key: string;
  says: string;
  command: Command;
}

const QUIT = ['quit', 'q', 'q!', 'exit'];

/** A line behind `:` that is no entry. A section may be followed by a filter, or by the id of one of its items. */
export function readCommand(line: string, sections: readonly Section[], labels: readonly string[]): Command {
  const [word = '', ...rest] = line.trim().split(/\s+/);
  if (word === '') return { kind: 'help' };
  const named = sections.filter(({ name }) => name.startsWith(word));
  const section = named.find(({ name }) => name === word) ?? (named.length === 1 ? named[0] : undefined);
  if (section) return { kind: 'section', section, rest: rest.join(' ') };
  const surplus = labels.find((label) => line.trim().startsWith(`${label} `));
  return surplus === undefined ? { kind: 'unknown', word } : { kind: 'surplus', label: surplus };
}

/** What there is that a line may mean, the nearest first; everything for an empty line. */
export function entriesFor(
  line: string,
  sections: readonly Section[],
  actions: readonly Pick<BoundAction, 'key' | 'label' | 'action'>[],
): readonly Entry[] {
  const typed = line.trimStart().toLowerCase();
  const all = [
    ...sections.map((section, at): Entry => {
      const { name, summary: says } = section;
      return { name, key: at < 10 ? String((at + 1) % 10) : '', says, command: { kind: 'section', section, rest: '' } };
    }),
    ...actions.map(({ key, label, action }): Entry => {
      return { name: label, key, says: action.summary, command: { kind: 'action', label } };
    }),
    { name: 'help', key: '?', says: 'the keys of this screen', command: { kind: 'help' } } as const,
    { name: 'quit', key: '', says: 'leave the console', command: { kind: 'quit' } } as const,
  ];
  const ranked = all.map((entry) => ({ entry, rank: rankOf(entry, typed) }));
  return ranked
    .filter((one): one is { entry: Entry; rank: number } => one.rank !== undefined)
    .sort((a, b) => a.rank - b.rank)
    .map(({ entry }) => entry);
}

/** How near an entry is to what was typed; undefined where it has nothing of it. */
function rankOf({ name, says, command }: Entry, typed: string): number | undefined {
  if (typed === '' || name === typed || (command.kind === 'quit' && QUIT.includes(typed))) return 0;
  if (name.startsWith(typed)) return 1;
  if (name.split(/[- ]/).some((word) => word.startsWith(typed))) return 2;
  if (name.includes(typed)) return 3;
  if (hasLetters(name, typed)) return 4;
  return typed.length > 2 && says.toLowerCase().includes(typed) ? 5 : undefined;
}

/** The letters in their order, others between them: `wh` is in `webhooks`. */
function hasLetters(name: string, typed: string): boolean {
  let at = -1;
  return [...typed].every((letter) => (at = name.indexOf(letter, at + 1)) !== -1);
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
