import { setTimeout as wait } from 'node:timers/promises';
import type { Screen } from './screen.ts';

/** A selection that moves on sooner asks for nothing: a team may ask a few times a second. */
const PAUSE_MS = 200;

/** The screen in a preview: its tab and scroll position can be changed from the list that has the selected row. */
export interface Previewed extends Screen {
  /** The label of its shown tab; empty if it has none. */
  side?: string;
  turn?: (step: 1 | -1) => void;
  scroll?: (lines: number) => void;
  /** Updates the row of the item. */
  renew?: (row: object) => void;
}

const SCROLLED = 3;

/** Shows the selected row in full next to a table on a wide terminal; requested once the selection stops moving. */
export class Preview<Row extends object> {
  readonly #make: (row: Row, side: string) => Previewed | undefined;
  readonly #toId: (row: Row) => string;
  #id: string | undefined;
  #screen: Previewed | undefined;
  /** The side that was chosen stays while one walks. */
  #side = '';
  #signal: AbortSignal | undefined;
  #stop = new AbortController();

  constructor(toId: (row: Row) => string, make: (row: Row, side: string) => Previewed | undefined) {
    this.#toId = toId;
    this.#make = make;
  }

  /** Returns the screen of this row, which is refreshed until the signal fires or another row is selected. */
  show(row: Row | undefined, signal: AbortSignal): Previewed | undefined {
    if (row === undefined) return void this.hide();
    const id = this.#toId(row);
    if (id !== this.#id) {
      this.hide();
      this.#id = id;
      this.#screen = this.#make(row, this.#side);
    } else this.#screen?.renew?.(row);
    if (signal !== this.#signal && this.#screen) this.#begin(this.#screen, signal);
    return this.#screen;
  }

  hide(): void {
    this.#stop.abort();
    this.#id = undefined;
    this.#signal = undefined;
    this.#screen = undefined;
  }

  /** Returns the loaded screen when its row is opened. */
  take(id: string): Previewed | undefined {
    const screen = id === this.#id ? this.#screen : undefined;
    this.hide();
    return screen;
  }

  /** Returns whether the key was one for the preview. */
  key(key: string): boolean {
    const screen = this.#screen;
    if (!screen) return false;
    if (key === 'tab' || key === 'shift-tab') {
      screen.turn?.(key === 'tab' ? 1 : -1);
      this.#side = screen.side ?? '';
    } else if (key === 'J' || key === 'K') screen.scroll?.(key === 'J' ? SCROLLED : -SCROLLED);
    else return false;
    return true;
  }

  get keys(): readonly (readonly [string, string])[] {
    if (!this.#screen?.turn) return [];
    return [
      ['tab', 'other tabs of the item next to the list'],
      ['J K', 'scroll the item next to the list'],
    ];
  }

  #begin(screen: Previewed, signal: AbortSignal): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#signal = signal;
    const until = AbortSignal.any([signal, this.#stop.signal]);
    void wait(PAUSE_MS, undefined, { signal: until, ref: false }).then(
      () => screen.start(until),
      () => undefined,
    );
  }
}
