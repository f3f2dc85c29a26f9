import { cleanJson } from './clean.ts';
import { fitProse } from './prose.ts';

/** `screen`: light on dark, whatever the colors of the terminal are. */
export type Style = 'plain' | 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'screen';

/** The output and the abilities of its reader: a person at a terminal, or a program at a pipe. */
export interface Terminal {
  isTty: boolean;
  columns: number;
  /** Prints results, to standard output. */
  print(text: string): void;
  /** Prints sentences among the results: for a person, wrapped between words. */
  printText(text: string): void;
  /** Prints the whole response of the API: indented for a person, on one line for a program. */
  printJson(value: unknown): void;
  /** Prints a remark for people to standard error; nothing if the output is a pipe. */
  hint(text: string): void;
  /** Prints a warning for everybody to standard error. */
  warn(text: string): void;
  /** Prints to standard error what a long command does, if no line of progress can show it. */
  notice(text: string): void;
  /** Replaces the line of progress, if somebody is watching; the empty text removes it. */
  progress(text: string): void;
  /** Reports whether there is such a line now. */
  hasProgress(): boolean;
  paint(style: Style, text: string): string;
}

type Stream = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>;

export interface TerminalInput {
  out: Stream;
  err: Stream;
  env: Readonly<Record<string, string | undefined>>;
}

const COLUMNS = 80;

export function openTerminal({ out, err, env }: TerminalInput): Terminal {
  const isTty = out.isTTY === true;
  const columns = (isTty && out.columns) || COLUMNS;
  const isPlain = Boolean(env.NO_COLOR) || env.TERM === 'dumb' || !isTty;
  let isProgressShown = false;
  return {
    isTty,
    columns,
    print: (text) => void out.write(`${text}\n`),
    printText: (text) => void out.write(`${isTty ? fitProse(text, columns) : text}\n`),
    printJson: (value) => void out.write(`${cleanJson(value, isTty ? 2 : 0)}\n`),
    hint(text) {
      if (isTty && err.isTTY) err.write(`${fitProse(text, columns)}\n`);
    },
    warn: (text) => void err.write(`${err.isTTY ? fitProse(text, err.columns || COLUMNS) : text}\n`),
    notice(text) {
      if (!err.isTTY || env.TERM === 'dumb') err.write(`${text}\n`);
    },
    progress(text) {
      if (!err.isTTY || env.TERM === 'dumb' || (text === '' && !isProgressShown)) return;
      isProgressShown = text !== '';
      err.write(`\r\u001B[K${text}`);
    },
    hasProgress: () => isProgressShown,
    paint: (style, text) => (isPlain || style === 'plain' ? text : `\u001B[${CODES[style]}m${text}\u001B[0m`),
  };
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, screen: '97;40' } as const;

/** ISO/IEC 18004 asks for four squares of light around it; telephones read it with two, and a terminal has little room. */
const QUIET_ZONE = 2;
/** The cells are light, as on a dark terminal; with colors they are light on a light terminal, too. */
const BLOCKS = [' ', '▄', '▀', '█'] as const;

/** Limit for the text: a server that is not ours may return anything. */
const CHARS_MAX = 500;

/** Draws a QR code, two rows of squares a line; returns undefined if the terminal is too narrow for it. */
export async function qrLines(terminal: Pick<Terminal, 'columns'>, text: string): Promise<string[] | undefined> {
  if (text.length > CHARS_MAX) return undefined;
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { ecc: 'L', border: QUIET_ZONE });
  if (size > terminal.columns) return undefined;
  return Array.from({ length: Math.ceil(size / 2) }, (_, line) =>
    Array.from({ length: size }, (_, x) => {
      const isLight = (y: number): boolean => !(data[y]?.[x] ?? false);
      return BLOCKS[(isLight(line * 2) ? 2 : 0) + (isLight(line * 2 + 1) ? 1 : 0)];
    }).join(''),
  );
}
