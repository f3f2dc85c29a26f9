import type { Client } from '../../cli/client/index.ts';
import type { Say, Terminal } from '../../cli/output/index.ts';
import type { At } from '../advice.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BoundAction, Section } from '../catalog.ts';
import type { Dialog } from '../dialogs/dialog.ts';
import type { Faults } from '../faults.ts';
import type { Awaited } from '../waiting-keys.ts';
import { columnsBeside } from '../draw/text.ts';

export interface Size {
  columns: number;
  rows: number;
  /** Another screen beside it is the one that the keys are for. */
  isAside?: boolean;
  /** What is in hand is shown in full beside it. */
  hasBeside?: boolean;
}

/** What a screen is handed: the API, how to paint, and who draws it again. */
export interface Host {
  client: Client;
  terminal: Terminal;
  faults: Faults;
  /** What is shown here. */
  sections: readonly Section[];
  /** Whether it is a person who calls, and not a key. */
  isPerson: boolean;
  /** Since when the server says nothing: what is shown is as old. */
  lostSince: number | undefined;
  changed: () => void;
  open: (screen: Screen) => void;
  /** In the place of the one that is seen. */
  openInstead: (screen: Screen) => void;
  say: (text: string) => void;
  /** What stands over the screen until it is answered. */
  dialog: Dialog | undefined;
  /** Does an action, once everything about it is known and meant. */
  begin: (bound: BoundAction, offer: Offer) => void;
  sayFault: (error: unknown) => void;
  /** How an advice is said here, or on an open item. */
  speaker: (at?: At) => Say;
  /** A filter was refused: it is there to be corrected, below what is wrong with it. */
  typeAgain: (filter: string, fault: unknown) => void;
}

/** What can be done here and now, and to what. */
export interface Offer {
  actions: readonly BoundAction[];
  /** What can be done to others of the kind, and not to these as they are. */
  withheld?: readonly BoundAction[];
  /** The paths of the items that are meant; one empty path where none is. */
  paths: readonly Readonly<Record<string, string>>[];
  /** What these are called, in the order of their paths. */
  names?: readonly string[];
  /** What a form begins with. */
  given?: Readonly<Record<string, string>>;
}

export interface Screen {
  /** Where one is; the last part of the line of crumbs. */
  title: string;
  /** Beside the crumbs: filters, how much is loaded, what went wrong. */
  note: () => string;
  /** Loads and follows, until the signal fires: nothing is asked for a screen that nobody sees. */
  start: (signal: AbortSignal) => void;
  draw: (size: Size) => string[];
  /** On a wide terminal what is in hand here, in full; asked before it is drawn, and with false where there is no space for it. */
  beside?: (isShown: boolean) => Screen | undefined;
  /** It takes the whole width, whatever that is. */
  isWhole?: boolean;
  /** It was not opened from the row in hand, which is therefore not shown beside it. */
  isApart?: boolean;
  /** Answers whether the key meant anything here. */
  key: (key: string) => boolean;
  /** Whether what this key is for is there. */
  awaits?: (key: string) => Awaited;
  /** Keys that mean something else here than everywhere. */
  own?: ReadonlySet<string>;
  /** The keys of this screen beside those of all, as pairs of key and meaning. */
  keys: () => readonly (readonly [string, string])[];
  offers: () => readonly Offer[];
  /** What `y` copies. */
  copy: () => string | undefined;
  filter?: ScreenFilter | undefined;
  refresh: () => void;
  /** How many rows are marked. */
  marked?: number;
  /** Answers whether anything was marked. */
  unmark?: () => boolean;
}

export interface ScreenFilter {
  /** What it does, where it does more than to filter. */
  label?: string;
  /** What may stand before a `=`, with what may stand behind it, where that is known. */
  names: Readonly<Record<string, readonly string[]>>;
  text: string;
  /** Throws an Error whose message says what is wrong. */
  apply: (text: string) => void;
}

/** How often what is on the screen is asked for again. */
const FOLLOW_MS = 3000;

/** Asks again and again until the signal fires; what goes wrong is told and asked again. */
export async function follow(
  { faults }: Pick<Host, 'faults'>,
  signal: AbortSignal,
  { load, tell, everyMs = FOLLOW_MS }: Followed & { everyMs?: number },
): Promise<void> {
  while (!signal.aborted) {
    await tried({ faults }, signal, { load, tell });
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

interface Followed {
  load: (signal: AbortSignal) => Promise<void>;
  tell: (fault: string) => void;
}

/** Tells the fault of some work, and the empty text where it went well. */
export async function tried(
  { faults }: Pick<Host, 'faults'>,
  signal: AbortSignal,
  { load, tell }: Followed,
): Promise<void> {
  try {
    await load(signal);
    if (!signal.aborted) tell('');
  } catch (error) {
    if (signal.aborted) return;
    await faults.ready(error);
    if (!signal.aborted) tell(faults.inWords(error));
  }
}

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
