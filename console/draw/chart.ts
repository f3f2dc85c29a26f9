import { isRateHigh, RATE_LIMITS } from '../../src/contract/index.ts';
import { grouped, type Tone } from '../../cli/families/index.ts';
import { bars, faint } from './text.ts';
import { toStyle, type Terminal } from '../../cli/output/index.ts';

interface ChartInput {
  values: readonly number[];
  /** Lines of the bars, the axis not among them. */
  height: number;
  columns: number;
  paint: (text: string) => string;
  /** The labels below the first and the last bar. */
  ends: readonly [from: string, to: string];
}

const BAR_MAX = 6;

/** Bars with a scale on their left and an axis below them, no wider than `columns`. */
export function chart({ values, height, columns, paint, ends: [from, to] }: ChartInput): string[] {
  const most = Math.max(1, ...values);
  const label = Math.max(2, grouped(most).length);
  const wide = Math.max(1, Math.min(BAR_MAX, Math.floor((columns - label - 2) / Math.max(1, values.length))));
  const middle = Math.floor(height / 2);
  // For small numbers the middle is labeled only if it is an integer.
  const isTold = most >= 10 || (most * (height - middle)) % height === 0;
  const lines = bars(values, height, wide).map((line, at) => {
    const told =
      at === 0 ? most : at === middle && isTold ? Math.round((most * (height - middle)) / height) : undefined;
    const scale = told === undefined ? `${' '.repeat(label)} │` : `${grouped(told).padStart(label)} ┤`;
    return faint(scale) + paint(line);
  });
  const length = values.length * wide;
  return [
    ...lines,
    faint(`${'0'.padStart(label)} └${'─'.repeat(length)}`),
    faint(`${' '.repeat(label + 2)}${from.padEnd(Math.max(from.length + 1, length - to.length))}${to}`),
  ];
}

/** Describes a count with its rate, and whether that is too high: in words as well as by color, judged as in findings. */
export function rateInWords(
  terminal: Terminal,
  what: keyof typeof RATE_LIMITS,
  { count = 0, rate = 0, name = '' }: { count?: number | undefined; rate?: number | undefined; name?: string },
): string {
  const isHigh = rate > 0 && isRateHigh({ bad: count, of: (count * 100) / rate }, RATE_LIMITS[what]);
  const tone: Tone = isHigh ? 'bad' : 'plain';
  return terminal.paint(toStyle(tone), `${grouped(count)}${name} (${rate} %)${isHigh ? ' ✗ too high' : ''}`);
}
