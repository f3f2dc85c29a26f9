import type { BoundAction, Section } from './catalog.ts';
import { bold, wrap } from './draw/text.ts';

type Pairs = readonly (readonly [keys: string, says: string])[];

const MOVING: Pairs = [
  ['↑ ↓  k j', 'move'],
  ['PgUp PgDn  Ctrl-B Ctrl-F', 'a page; half of one with Ctrl-U and Ctrl-D'],
  ['Home End  g G', 'to the beginning, to the end'],
  ['Enter  →  l', 'open the row in hand; on what is open → leads to its other sides'],
  ['Esc  ←  h', 'back; Esc takes marks and a filter away first'],
];

const GLOBAL: Pairs = [
  [':', 'go to a screen or do something by its name; ↑ ↓ choose, Tab completes'],
  ['/', 'filter; Tab completes names and values, an empty line shows everything again'],
  ['↑ ↓', 'behind : and /: what was typed before'],
  ['x', 'what can be done here'],
  ['y', 'copy the id, or the value of a record'],
  ['r', 'ask again now'],
  ['q', 'back, and out of the console from a first screen'],
  ['Ctrl-C', 'out of the console'],
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
