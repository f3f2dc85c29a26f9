import { writeSync } from 'node:fs';

export interface TerminalGuard {
  /** Resolves when the console is to end, and rejects with the fault that ends it. */
  ended: Promise<void>;
  end: (fault?: unknown) => void;
  /** What draws has to stop first: it would write its last frame to the screen that is given back. */
  stopDrawing: (stop: () => void) => void;
  restore: () => void;
}

/**
 * Terminals count the columns of some scripts and emoji differently: what is too long for one is cut there, and does not go
 * on in a line of its own, which would move all others.
 */
const NO_WRAP = '\u001B[?7l';
/** Colours off, bracketed paste off, cursor shown, lines that go on, out of the alternate screen. Harmless where nothing of it was on. */
const RESTORE = '\u001B[0m\u001B[?2004l\u001B[?25h\u001B[?7h\u001B[?1049l';
const SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const;
const NUMBERS = { SIGTERM: 15, SIGHUP: 1, SIGINT: 2, SIGQUIT: 3 } as const;

/** Whatever ends the process, the terminal is given back as it was. */
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
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      restore();
      // As a shell reports who was ended by a signal.
      process.exit(128 + NUMBERS[signal]);
    });
  }
  writeSync(stdout.fd, NO_WRAP);
  // A terminal that is closed takes the console with it.
  stdin.once('end', () => resolve());
  return { ended, end, restore, stopDrawing: (how) => void (stop = how) };
}
