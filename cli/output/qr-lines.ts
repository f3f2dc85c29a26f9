import type { Terminal } from './terminal.ts';

/** ISO/IEC 18004 asks for four squares of light around it; telephones read it with two, and a terminal has little room. */
const QUIET_ZONE = 2;
/** What is written is light, as on a dark terminal; with colours it is so on a light one, too. */
const BLOCKS = [' ', '▄', '▀', '█'] as const;

/** A server of others may answer anything. */
const CHARS_MAX = 500;

/** A QR code, two rows of squares a line; undefined where the terminal is too narrow for it. */
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
