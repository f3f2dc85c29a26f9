import type { BoundAction, Section } from './catalog.ts';
import { bold, wrap } from './draw/text.ts';

type Pairs = readonly (readonly [keys: string, says: string])[];

const MOVING: Pairs = [
  ['↑ ↓  k j', 'move'],
  ['PgUp PgDn  Ctrl-B Ctrl-F', 'move by a page; by half a page with Ctrl-U and Ctrl-D'],
  ['Home End  g G', 'go to the beginning, to the end'],
  ['Enter  →  l', 'open the selected row; in an open item, → goes to the next tab'],
  ['Esc  ←  h', 'go back; Esc first removes marks and a filter'],
];

const GLOBAL: Pairs = [
  [':', 'go to a screen or run an action by name; ↑ ↓ choose, Tab completes'],
  ['/', 'filter; Tab completes names and values, ↑ brings back the last one, an empty filter shows everything again'],
  ['↑ ↓', 'after : and /: earlier input'],
  ['x', 'show the actions'],
  ['y', 'copy the id, or the value of a record'],
  ['r', 'refresh now'],
  ['q', 'go back; on a first screen, quit the console'],
  ['Ctrl-C', 'quit the console'],
];

const KEYS = 28;

/** Lists all keys that have a meaning here, in groups. Their descriptions stay in their column. */
export function helpText(
  own: Pairs,
  actions: readonly BoundAction[],
  sections: readonly Section[],
  width: number,
): string {
  const lines = (pairs: Pairs): string[] =>
    pairs.flatMap(([keys, says]) =>
      wrap(says, width - KEYS).map((line, at) => `${(at === 0 ? `  ${keys}` : '').padEnd(KEYS)}${line}`),
    );
  const screens = sections.map(
    ({ name, summary }, at) => [at < 10 ? `${(at + 1) % 10}  :${name}` : `   :${name}`, summary] as const,
  );
  const done = actions.map(
    ({ key, label, action }) => [key, label === action.summary ? label : `${label}: ${action.summary}`] as const,
  );
  const groups: readonly (readonly [string, Pairs])[] = [
    ['Navigation', [...own, ...MOVING]],
    ['Actions of this screen', done],
    ['Global', GLOBAL],
    ['Screens', screens],
  ];
  return groups
    .filter(([, pairs]) => pairs.length > 0)
    .map(([title, pairs]) => [bold(title), ...lines(pairs)].join('\n'))
    .join('\n\n');
}
