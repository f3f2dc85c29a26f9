import type { Doing, Section } from './catalog.ts';

const EVERYWHERE = [
  ['↑ ↓  k j', 'move'],
  ['PgUp PgDn  Ctrl-B Ctrl-F', 'a page; half of one with Ctrl-U and Ctrl-D'],
  ['Home End  g G', 'to the beginning, to the end'],
  ['/', 'filter; Tab completes, an empty line shows everything again'],
  [':', 'go to a screen or do something by its name; Tab completes'],
  ['x', 'what can be done here'],
  ['y', 'copy the id, or the value of a record'],
  ['r', 'ask again now'],
  ['Esc  ←  h', 'back; Esc takes a filter away first'],
  ['q', 'back, and out of the console from a first screen'],
  ['Ctrl-C', 'out of the console'],
] as const;

/** All keys that mean something here. */
export function helpText(
  own: readonly (readonly [string, string])[],
  doings: readonly Doing[],
  sections: readonly Section[],
): string {
  const lines = (pairs: readonly (readonly [string, string])[]): string =>
    pairs.map(([keys, says]) => `  ${keys.padEnd(26)}${says}`).join('\n');
  const screens = sections.map(
    ({ name, summary }, at) => [at < 10 ? `${(at + 1) % 10}  :${name}` : `   :${name}`, summary] as const,
  );
  const here = [
    ...own,
    ...doings.map(
      ({ key, label, action }) => [key, label === action.summary ? label : `${label}: ${action.summary}`] as const,
    ),
  ];
  return [
    ...(here.length > 0 ? [`This screen\n${lines(here)}`] : []),
    `Everywhere\n${lines(EVERYWHERE)}`,
    `Screens\n${lines(screens)}`,
  ].join('\n\n');
}
