import { bold, faint, shownWidth } from './draw/text.ts';
import type { Navigator } from './navigator.ts';
import type { Offer, Screen } from './screens/screen.ts';

type Pair = readonly [key: string, says: string];

/** Short descriptions of keys, for those whose full description is longer. */
const BRIEF: Readonly<Record<string, string>> = {
  'other tabs': 'tabs',
  'copy the value': 'copy',
  'other tabs of the item next to the list': 'its tabs',
  'scroll the item next to the list': 'scroll it',
  'mark, to act on several items': 'mark',
};

/** Longer descriptions are only shown by ?. */
const SAYS_MAX = 16;

/** The keys of the last line: each whole, and of more than fit those that are needed first. */
export function keysLine({ dialog, prompt, screen }: Navigator, columns: number): string {
  if (dialog) return ` ${keysThatFit(dialog.keys, columns - 1)}`;
  if (prompt?.sign === ':') return ' enter run   ↑↓ choose   tab complete   ↑ history   esc cancel';
  if (prompt) return ' enter apply   tab complete   ↑↓ history   esc cancel';
  return fitting(screen ? buildPairs(screen) : [[':', 'go to']], columns);
}

function buildPairs(screen: Screen): Pair[] {
  const own = screen
    .keys()
    .map(([key, says]) => [key, BRIEF[says] ?? says] as const)
    .filter(([, says]) => says.length < SAYS_MAX);
  const marked = screen.marked ?? 0;
  const held = marked > 0 ? 'unmark' : screen.filter?.text ? 'show all' : undefined;
  const { begins, row, others } = inGroups(screen.offers());
  const ownFirst = own.filter(([key]) => screen.own !== undefined || !LATE.has(key));
  const opens = screen.own ? [] : own.filter(([key]) => key === 'enter');
  const late = screen.own ? [] : own.filter(([key]) => LATE.has(key) && key !== 'enter');
  const acts: Pair[] = begins.length + row.length + others.length > 0 ? [['x', 'do']] : [];
  return [
    [':', 'go to'],
    ...(screen.filter ? [['/', screen.filter.label ?? 'filter'] as const] : []),
    ...(held === undefined ? [] : [['esc', held] as const]),
    // Keys that only this screen has are the most important ones.
    ...(screen.own ? [...ownFirst, ...acts] : [...acts, ...ownFirst]),
    // Marked rows are there to be acted on, rather than to be opened or to create another.
    ...(marked > 0 ? [...row, ...opens, ...begins] : [...opens, ...begins.slice(0, 1), ...row, ...begins.slice(1)]),
    ...late,
    ...others,
  ];
}

const LATE: ReadonlySet<string> = new Set(['enter', 'space', 'tab', 'J K']);

/**
 * Groups the actions: those that create something, those for the selected row in its state, and those of other families
 * for it.
 */
function inGroups(offers: readonly Offer[]): { begins: Pair[]; row: Pair[]; others: Pair[] } {
  const all = offers.flatMap(({ names = [], actions }) =>
    actions.map(({ key, label, action }) => ({
      pair: [key, label] as const,
      isOfRow: names.length > 0,
      isOwn: label === action.verb,
    })),
  );
  const pairsWhere = (isMeant: (one: (typeof all)[number]) => boolean): Pair[] =>
    all.filter(isMeant).map(({ pair }) => pair);
  return {
    begins: pairsWhere(({ isOfRow }) => !isOfRow),
    row: pairsWhere(({ isOfRow, isOwn }) => isOfRow && isOwn),
    others: pairsWhere(({ isOfRow, isOwn }) => isOfRow && !isOwn),
  };
}

/** The first key shows whether there are more keys than fit. */
function fitting(pairs: readonly Pair[], columns: number): string {
  const drawn = (all: readonly Pair[], first: string, gap: string): string =>
    ` ${[['?', first] as const, ...all].map(([key, says]) => `${bold(key)} ${faint(says)}`).join(gap)}`;
  const whole = drawn(pairs, 'keys', '   ');
  if (shownWidth(whole) <= columns) return whole;
  const close = drawn(pairs, 'keys', '  ');
  if (shownWidth(close) <= columns) return close;
  const cut = [...pairs];
  while (cut.length > 0 && shownWidth(drawn(cut, 'more', '  ')) > columns) cut.pop();
  return drawn(cut, 'more', '  ');
}

/** Returns the keys of a dialog that fit whole: the last one, which leaves it, is always kept. */
function keysThatFit(keys: string, columns: number): string {
  const parts = keys.split(/ {3}/);
  while (parts.length > 2 && shownWidth(parts.join('   ')) > columns) parts.splice(-2, 1);
  return parts.join('   ');
}
