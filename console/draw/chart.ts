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

/** The rates at which mailbox providers begin to take notice, and to refuse (percent). */
const LIMITS = { bounced: [4, 10], complained: [0.1, 0.3] } as const;

/** Describes a count with its rate, and whether that is high: in words as well as by color. */
export function rateInWords(
  terminal: Terminal,
  what: keyof typeof LIMITS,
  { count = 0, rate = 0, name = '' }: { count?: number | undefined; rate?: number | undefined; name?: string },
): string {
  const [high, tooHigh] = LIMITS[what];
  const tone: Tone = rate >= tooHigh ? 'bad' : rate >= high ? 'attention' : 'plain';
  const words = { plain: '', good: '', attention: ' ! high', bad: ' ✗ too high' }[tone];
  return terminal.paint(toStyle(tone), `${grouped(count)}${name} (${rate} %)${words}`);
}
