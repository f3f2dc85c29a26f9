import type { Client } from '../../cli/client/index.ts';
import type { FormatAdvice, Terminal } from '../../cli/output/index.ts';
import type { At } from '../advice.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BoundAction, Section } from '../catalog.ts';
import type { Dialog } from '../dialogs/dialog.ts';
import type { Faults } from '../faults.ts';
import type { Awaited } from '../waiting-keys.ts';
import { joinColumns } from '../draw/text.ts';

export interface Size {
  columns: number;
  rows: number;
  /** Keys go to another screen next to it. */
  isAside?: boolean;
  /** The selected row is shown in full next to it. */
  hasBeside?: boolean;
}

/** Gives a screen the API, the terminal, and a way to be drawn again. */
export interface Host {
  client: Client;
  terminal: Terminal;
  env: Readonly<Record<string, string | undefined>>;
  faults: Faults;
  /** The sections that are available. */
  sections: readonly Section[];
  /** True if the caller is a person instead of a key. */
  isPerson: boolean;
  /** The time since when the server does not respond: the content is as old. */
  lostSince: number | undefined;
  changed: () => void;
  open: (screen: Screen) => void;
  /** Opens a screen in place of the visible one. */
  openInstead: (screen: Screen) => void;
  say: (text: string) => void;
  /** The dialog that covers the screen until it is answered. */
  dialog: Dialog | undefined;
  /** Runs an action, once its fields are filled and it is confirmed. */
  begin: (bound: BoundAction, offer: Offer) => void;
  sayFault: (error: unknown) => void;
  /** Returns how to word an advice here, or on an open item. */
  speaker: (at?: At) => FormatAdvice;
  /** Leaves the terminal to another program while the work lasts; the screen is drawn again afterwards. */
  lendTerminal: (work: () => Promise<void>) => Promise<void>;
  /** Opens the prompt with a filter that was refused, to be corrected, and its fault. */
  typeAgain: (filter: string, fault: unknown) => void;
}

/** The actions that are available now, and their items. */
export interface Offer {
  actions: readonly BoundAction[];
  /** Actions for others of the kind, which do not apply to these items in their state. */
  withheld?: readonly BoundAction[];
  /** The paths of the items; one empty path if there are none. */
  paths: readonly Readonly<Record<string, string>>[];
  /** The names of the items, in the order of their paths. */
  names?: readonly string[];
  /** The items as they are shown, in the order of their paths. */
  items?: readonly object[];
  /** The initial values of a form. */
  given?: Readonly<Record<string, string>>;
}

export interface Screen {
  /** The location; the last part of the line of crumbs. */
  title: string;
  /** Returns the note next to the crumbs: filters, how much is loaded, faults. */
  note: () => string;
  /** Loads and refreshes until the signal fires: nothing is requested for a screen that is not visible. */
  start: (signal: AbortSignal) => void;
  draw: (size: Size) => string[];
  /**
   * On a wide terminal returns the screen with the selected item in full; called before drawing, and with false if
   * there is no space for it.
   */
  beside?: (isShown: boolean) => Screen | undefined;
  /** It takes the whole width of any terminal. */
  isWhole?: boolean;
  /** It was not opened from the selected row, which is therefore not shown next to it. */
  isApart?: boolean;
  /** Handles a key; returns whether it meant anything here. */
  key: (key: string) => boolean;
  /** Returns whether the content that this key acts on is loaded. */
  awaits?: (key: string) => Awaited;
  /** Keys that mean something else here than everywhere. */
  own?: ReadonlySet<string>;
  /** Returns the keys of this screen in addition to the common ones, as pairs of key and meaning. */
  keys: () => readonly (readonly [string, string])[];
  offers: () => readonly Offer[];
  /** Returns the text that `y` copies. */
  copy: () => string | undefined;
  filter?: ScreenFilter | undefined;
  refresh: () => void;
  /** The number of marked rows. */
  marked?: number;
  /** Removes all marks; returns whether there were any. */
  unmark?: () => boolean;
}

export interface ScreenFilter {
  /** The label of the `/` key, if it does more than filter. */
  label?: string;
  /** The possible words before a `=`, each with the possible words after it, if they are known. */
  names: Readonly<Record<string, readonly string[]>>;
  text: string;
  /** Throws an Error whose message describes the fault. */
  apply: (text: string) => void;
}

/** The interval at which the content of the screen is refreshed. */
const FOLLOW_MS = 3000;

/** Calls `load` again and again until the signal fires; reports faults and continues. */
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

/** Runs some work and reports its fault, or the empty text if it succeeded. */
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

/** From this width on two screens are shown next to each other. */
const WIDE = 120;
/** The share of the width for the screen on the left. */
const LEFT = 0.45;

export const isWide = (columns: number): boolean => columns >= WIDE;

/**
 * Draws the visible screen. On a wide terminal a list has the selected row in full next to it, and follows the
 * selection; an open item has the list it was opened from on its left.
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

/** Reports whether this screen is shown next to the one it was opened from. */
export const hasOuter = (screen: Screen | undefined, outer: Screen | undefined): outer is Screen =>
  outer !== undefined && !outer.isWhole && !screen?.isWhole && !screen?.isApart;

function drawBoth(left: Screen, right: Screen, { size, inHand }: { size: Size; inHand: 'left' | 'right' }): string[] {
  const width = Math.floor(size.columns * LEFT);
  const { rows } = size;
  const lines = left.draw({ columns: width, rows, hasBeside: true, isAside: inHand !== 'left' });
  const others = right.draw({ columns: size.columns - width - 2, rows, isAside: inHand !== 'right' });
  return joinColumns(lines, others, width, rows);
}
