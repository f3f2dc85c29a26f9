import { writeSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';

export interface TerminalGuard {
  /** Resolves when the console is to end, and rejects with the fault that ends it. */
  ended: Promise<void>;
  end: (fault?: unknown) => void;
  /** Drawing has to stop first: it would write its last frame to the restored screen. */
  stopDrawing: (stop: () => void) => void;
  restore: () => void;
  /** Leaves keys, lines and the keys that interrupt to another program, once drawing has stopped, while the work lasts. */
  lend: (work: () => Promise<void>) => Promise<void>;
}

/**
 * Terminals count the columns of some scripts and emoji differently: a line that is too long for a terminal is cut
 * there, instead of wrapping and moving all others.
 */
const NO_WRAP = '\u001B[?7l';
const WRAP = '\u001B[?7h';
/**
 * Colors off, bracketed paste off, cursor shown, line wrap on, out of the alternate screen. Harmless if nothing of it
 * was on.
 */
const RESTORE = '\u001B[0m\u001B[?2004l\u001B[?25h\u001B[?7h\u001B[?1049l';
const SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const;
const NUMBERS = { SIGTERM: 15, SIGHUP: 1, SIGINT: 2, SIGQUIT: 3 } as const;

/** Restores the terminal, however the process ends. */
export function guardTerminal(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream & { fd: number }): TerminalGuard {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  let isRestored = false;
  let stop = (): void => undefined;
  const restore = (): void => {
    if (isRestored) return;
    isRestored = true;
    try {
      stop();
      if (stdin.isTTY) stdin.setRawMode(false);
      writeSync(stdout.fd, RESTORE);
    } catch {
      // The terminal itself is gone.
    }
  };
  const end = (fault?: unknown): void => {
    if (fault === undefined) resolve();
    // The waiting code prints it, once the terminal can show it.
    else reject(fault instanceof Error ? fault : new Error(String(fault)));
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
  process.on('exit', restore);
  let isLent = false;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      // The terminal sends these to every program in it; the one that has it decides what they mean.
      if (isLent && (signal === 'SIGINT' || signal === 'SIGQUIT')) return;
      restore();
      // The exit code with which a shell reports a process that was ended by a signal.
      process.exit(128 + NUMBERS[signal]);
    });
  }
  writeSync(stdout.fd, NO_WRAP);
  // A terminal that is closed takes the console with it.
  stdin.once('end', () => resolve());
  const lend = async (work: () => Promise<void>): Promise<void> => {
    isLent = true;
    writeSync(stdout.fd, WRAP);
    // What reads keys is detached in this turn. Only then the stream stops reading, which would take keys from the program.
    await turn();
    stdin.pause();
    try {
      await work();
    } finally {
      isLent = false;
      writeSync(stdout.fd, NO_WRAP);
    }
  };
  return { ended, end, restore, lend, stopDrawing: (how) => void (stop = how) };
}

export interface InkKey {
  upArrow: boolean;
  downArrow: boolean;
  leftArrow: boolean;
  rightArrow: boolean;
  pageDown: boolean;
  pageUp: boolean;
  home: boolean;
  end: boolean;
  return: boolean;
  escape: boolean;
  ctrl: boolean;
  shift: boolean;
  tab: boolean;
  backspace: boolean;
  delete: boolean;
  meta: boolean;
}

const NAMES = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageDown', 'pagedown'],
  ['pageUp', 'pageup'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'esc'],
  ['backspace', 'backspace'],
  ['delete', 'delete'],
] as const;

const CONTROLS: Readonly<Record<string, string>> = { '\r': 'enter', '\n': 'enter', '\t': 'tab', '\u007F': 'backspace' };
const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Returns the keys of one event. A fast typist, or a slow line, sends several at once. */
export function keysIn(input: string, key: InkKey): string[] {
  if (key.tab) return [key.shift ? 'shift-tab' : 'tab'];
  const named = NAMES.find(([name]) => key[name]);
  if (named) return [named[1]];
  if (key.ctrl && input !== '') return [`ctrl-${input}`];
  // Escape immediately followed by a key looks like a key with Alt, which has no meaning of its own here.
  const before = key.meta ? ['esc'] : [];
  const typed = [...segments.segment(input.replaceAll('\r\n', '\r'))].flatMap(({ segment }) => {
    const name = CONTROLS[segment];
    if (name !== undefined) return [name];
    if (/^[\u0001-\u001A]/.test(segment)) return [`ctrl-${String.fromCharCode(segment.charCodeAt(0) + 0x60)}`];
    return /^\p{Cc}/u.test(segment) ? [] : [segment];
  });
  return [...before, ...typed];
}
