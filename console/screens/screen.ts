import type { Client } from '../../cli/client/index.ts';
import { clean, explainFault, type Terminal, type Translate } from '../../cli/output/index.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Doing, Section } from '../catalog.ts';

export interface Size {
  columns: number;
  rows: number;
}

/** What a screen is handed: the API, how to paint, and who draws it again. */
export interface Host {
  client: Client;
  terminal: Terminal;
  /** What is shown here. */
  sections: readonly Section[];
  /** Since when the server says nothing: what is shown is as old. */
  lostSince: number | undefined;
  changed: () => void;
  open: (screen: Screen) => void;
  say: (text: string) => void;
}

/** What can be done here and now, and to what. */
export interface Offer {
  doings: readonly Doing[];
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
  /** Answers whether the key meant anything here. */
  key: (key: string) => boolean;
  /** The keys of this screen beside those of all, as pairs of key and meaning. */
  keys: () => readonly (readonly [string, string])[];
  offers: () => readonly Offer[];
  /** What `y` copies. */
  copy: () => string | undefined;
  filter?: ScreenFilter | undefined;
  refresh: () => void;
  unmark?: () => void;
}

export interface ScreenFilter {
  /** What may stand before a `=`, with what it says. */
  names: Readonly<Record<string, string>>;
  text: string;
  /** Throws an Error whose message says what is wrong. */
  apply: (text: string) => void;
}

/** How often what is on the screen is asked for again. */
export const FOLLOW_MS = 3000;

/** Asks again and again until the signal fires; what goes wrong is told and asked again. */
export async function follow(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
  tell: (fault: string) => void,
  everyMs = FOLLOW_MS,
): Promise<void> {
  while (!signal.aborted) {
    await tried(signal, work, tell);
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** Tells the fault of some work, and the empty text where it went well. */
export async function tried(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
  tell: (fault: string) => void,
): Promise<void> {
  try {
    await work(signal);
    if (!signal.aborted) tell('');
  } catch (error) {
    if (signal.aborted) return;
    tell(inWords(error));
  }
}

/** Any fault, for a line of the screen. What has no words of its own met an answer of another shape: no server ends the console. */
export function inWords(error: unknown, inItsWords?: Translate): string {
  const strange = (found: unknown): string =>
    clean(
      `The server answered something that is not rasket’s (${found instanceof Error ? found.message : String(found)}).`,
    );
  try {
    const [first, ...more] = explainFault(error, inItsWords)?.lines ?? [strange(error)];
    // The message of the whole may be that of its first field.
    const isSaid = (line: string): boolean => first?.includes(line.trim().replace(/\.$/, '')) ?? false;
    return [first, ...more.filter((line) => !isSaid(line))].join(' ');
  } catch (found) {
    // A refusal of another shape.
    return strange(found);
  }
}

/** What is made of answers, such as a drawing; what is told instead where they are of another shape. */
export function orInWords<T>(make: () => T, instead: (fault: string) => T): T {
  try {
    return make();
  } catch (error) {
    return instead(inWords(error));
  }
}
