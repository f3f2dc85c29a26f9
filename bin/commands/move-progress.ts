import type { MovePhase, MoveWatch } from '../../src/features/operations/moves/index.ts';

interface Terminal {
  isTTY?: boolean;
  write(text: string): unknown;
}

export interface MoveProgress {
  watch: MoveWatch;
  /** The rows of which a character was replaced. */
  replaced(): string[];
  /** Since it began. */
  seconds(): number;
  /** Ends a line that was begun. */
  end(): void;
}

/** How often it says where it is: at a terminal on one line, elsewhere with a line each time. */
const TTY_MS = 200;
const PLAIN_MS = 10_000;

export function createProgress(out: Terminal, now: () => number): MoveProgress {
  const isTTY = out.isTTY === true;
  const startedAt = now();
  const replaced: string[] = [];
  let [phase, rows, done, bytes]: [MovePhase, number, number, number] = ['counting', 0, 0, 0];
  let [phaseAt, saidAt, isOpen] = [startedAt, 0, false];

  function say(table: string): void {
    saidAt = now();
    const seconds = (saidAt - phaseAt) / 1000;
    const rate = seconds > 0 ? done / seconds : 0;
    const left = rate > 0 ? Math.ceil((rows - done) / rate) : 0;
    const parts = [`${phase} ${table}`.trim()];
    if (rows > 0) parts.push(`${done.toLocaleString('en')} of ${rows.toLocaleString('en')} rows`);
    if (rate > 0) parts.push(`${Math.round(rate).toLocaleString('en')} a second`);
    if (bytes > 0) parts.push(`${(bytes / 1e6).toFixed(1)} MB`);
    if (rate > 0 && done < rows) parts.push(`${left} s left`);
    const line = parts.join(', ');
    out.write(isTTY ? `\r${line}\u001B[K` : `${line}\n`);
    isOpen = isTTY;
  }

  const end = (): void => {
    if (isOpen) out.write('\n');
    isOpen = false;
  };
  return {
    watch: {
      begin(next, ofRows = 0) {
        end();
        [phase, rows, done, bytes, phaseAt] = [next, ofRows, 0, 0, now()];
        say('');
      },
      done(table, more, moreBytes) {
        done += more;
        bytes += moreBytes;
        if (now() - saidAt >= (isTTY ? TTY_MS : PLAIN_MS)) say(table);
      },
      replaced: (table, key) => void replaced.push(`${table} ${key}`),
    },
    replaced: () => replaced,
    seconds: () => (now() - startedAt) / 1000,
    end,
  };
}
