import { columnsBeside } from './draw/box.ts';
import type { Screen, Size } from './screens/screen.ts';

/** From here on two screens stand beside each other. */
const WIDE = 120;
/** Of the width, what the screen on the left takes. */
const LEFT = 0.45;

export const isWide = (columns: number): boolean => columns >= WIDE;

/**
 * The screen that is seen. On a wide terminal a list has the row in hand in full beside it, as far as the walking goes; what
 * is open has the list it was opened from on its left.
 */
export function drawPanes(screens: readonly Screen[], size: Size): string[] {
  const screen = screens.at(-1);
  if (!screen) return [];
  const preview = screen.beside?.(isWide(size.columns));
  if (!isWide(size.columns)) return screen.draw(size);
  if (preview) return drawBoth(screen, preview, { size, inHand: 'left' });
  const outer = screens.at(-2);
  if (!hasOuter(screen, outer)) return screen.draw(size);
  return drawBoth(outer, screen, { size, inHand: 'right' });
}

/** Whether this screen stands beside the one it was opened from. */
export const hasOuter = (screen: Screen | undefined, outer: Screen | undefined): outer is Screen =>
  outer !== undefined && !outer.isWhole && !screen?.isWhole && !screen?.isApart;

function drawBoth(left: Screen, right: Screen, { size, inHand }: { size: Size; inHand: 'left' | 'right' }): string[] {
  const width = Math.floor(size.columns * LEFT);
  const { rows } = size;
  const lines = left.draw({ columns: width, rows, hasBeside: true, isAside: inHand !== 'left' });
  const others = right.draw({ columns: size.columns - width - 2, rows, isAside: inHand !== 'right' });
  return columnsBeside(lines, others, width, rows);
}
