import type { BoundAction, Section } from './catalog.ts';
import { wrap } from './draw/text.ts';

const EVERYWHERE = [
  ['↑ ↓  k j', 'move'],
  ['PgUp PgDn  Ctrl-B Ctrl-F', 'a page; half of one with Ctrl-U and Ctrl-D'],
  ['Home End  g G', 'to the beginning, to the end'],
  ['/', 'filter; Tab completes names and values, an empty line shows everything again'],
  [':', 'go to a screen or do something by its name; Tab completes'],
  ['x', 'what can be done here'],
  ['y', 'copy the id, or the value of a record'],
  ['↑ ↓', 'behind : and /: what was typed before'],
  ['r', 'ask again now'],
  ['Enter  →  l', 'open the row in hand; on what is open → leads to its other sides'],
  ['Esc  ←  h', 'back; Esc takes marks and a filter away first'],
  ['q', 'back, and out of the console from a first screen'],
  ['Ctrl-C', 'out of the console'],
] as const;

const KEYS = 28;

/** All keys that mean something here. What they say stays in its column. */
export function helpText(
  own: readonly (readonly [string, string])[],
  actions: readonly BoundAction[],
  sections: readonly Section[],
  width: number,
): string {
  const lines = (pairs: readonly (readonly [string, string])[]): string =>
    pairs
      .flatMap(([keys, says]) =>
        wrap(says, width - KEYS).map((line, at) => `${(at === 0 ? `  ${keys}` : '').padEnd(KEYS)}${line}`),
      )
      .join('\n');
  const screens = sections.map(
    ({ name, summary }, at) => [at < 10 ? `${(at + 1) % 10}  :${name}` : `   :${name}`, summary] as const,
  );
  const here = [
    ...own,
    ...actions.map(
      ({ key, label, action }) => [key, label === action.summary ? label : `${label}: ${action.summary}`] as const,
    ),
  ];
  return [
    ...(here.length > 0 ? [`This screen\n${lines(here)}`] : []),
    `Everywhere\n${lines(EVERYWHERE)}`,
    `Screens\n${lines(screens)}`,
  ].join('\n\n');
}
