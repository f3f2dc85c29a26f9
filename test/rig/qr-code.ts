import decode from 'jsqr';

export interface Pixels {
  data: Uint8ClampedArray;
  width: number;
  height: number;
}

/** Returns what the decoder jsqr reads; null if it finds no code. Typed here, because the package's export does not match its types. */
export const readQrCode = ({ data, width, height }: Pixels): string | null =>
  (decode as unknown as (data: Uint8ClampedArray, width: number, height: number) => { data: string } | null)(
    data,
    width,
    height,
  )?.data ?? null;

const SCALE = 4;

/** Paints dark squares on a light background. */
function paint(side: number, squares: Iterable<readonly [x: number, y: number]>): Pixels {
  const width = side * SCALE;
  const data = new Uint8ClampedArray(width * width * 4).fill(255);
  for (const [x, y] of squares) {
    for (let row = y * SCALE; row < (y + 1) * SCALE; row++) {
      for (let column = x * SCALE; column < (x + 1) * SCALE; column++)
        data.fill(0, at(column, row), at(column, row) + 3);
    }
  }
  function at(column: number, row: number): number {
    return (row * width + column) * 4;
  }
  return { data, width, height: width };
}

/** Returns the picture of a code in a page, by its own paths. */
export function readPixels(svg: string): Pixels {
  const side = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)?.[1]);
  const runs = [...svg.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)];
  return paint(
    side,
    runs.flatMap(([, x, y, length]) =>
      Array.from({ length: Number(length) }, (_, n) => [Number(x) + n, Number(y)] as const),
    ),
  );
}

const DARK: Readonly<Record<string, readonly [upper: boolean, lower: boolean]>> = {
  '█': [false, false],
  '▀': [false, true],
  '▄': [true, false],
  ' ': [true, true],
};

/** Returns a code as a terminal shows it, in half blocks: what is written is light. */
export function pixelsOfLines(lines: readonly string[]): Pixels {
  const squares = lines.flatMap((line, row) =>
    [...line].flatMap((sign, x) => {
      const [upper = false, lower = false] = DARK[sign] ?? [];
      return [...(upper ? [[x, row * 2] as const] : []), ...(lower ? [[x, row * 2 + 1] as const] : [])];
    }),
  );
  return paint(Math.max(lines[0]?.length ?? 0, lines.length * 2), squares);
}
