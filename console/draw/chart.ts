import { grouped } from '../../cli/families/index.ts';
import { bars, faint } from './text.ts';

interface ChartInput {
  values: readonly number[];
  /** Lines of the bars, the axis not among them. */
  height: number;
  columns: number;
  paint: (text: string) => string;
  /** What stands below the first and the last bar. */
  ends: readonly [from: string, to: string];
}

const BAR_MAX = 6;

/** Bars with a scale on their left and an axis below them, no wider than `columns`. */
export function chart({ values, height, columns, paint, ends: [from, to] }: ChartInput): string[] {
  const most = Math.max(1, ...values);
  const label = Math.max(2, grouped(most).length);
  const wide = Math.max(1, Math.min(BAR_MAX, Math.floor((columns - label - 2) / Math.max(1, values.length))));
  const middle = Math.floor(height / 2);
  // Of few the middle is told only where it is a number.
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
