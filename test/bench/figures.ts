/** One line of the table. A ratio is against a baseline of the same run; a target without one is absolute. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  baseline?: { name: string; value: number };
  target?: { is: 'at least' | 'at most'; value: number; of: 'ratio' | 'value' };
  note?: string;
  /** The values behind the medians; the ratio is then the median of the rounds' own ratios. */
  rounds?: { value: number[]; baseline?: number[] };
}

export interface JudgedFigure extends Figure {
  ratio?: number;
  verdict: 'ok' | 'short' | '';
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2;
}

/** A figure that could not be measured is short of its target, never silently absent. */
export function judge(figure: Figure): JudgedFigure {
  const { target, baseline } = figure;
  const ratio = baseline ? (pairedRatio(figure) ?? figure.value / baseline.value) : undefined;
  const judged = ratio === undefined ? figure : { ...figure, ratio };
  if (!target) return { ...judged, verdict: '' };
  const measured = target.of === 'ratio' ? (ratio ?? NaN) : figure.value;
  const holds = target.is === 'at least' ? measured >= target.value : measured <= target.value;
  return { ...judged, verdict: holds ? 'ok' : 'short' };
}

/** Rounds are compared with their own baseline first: what disturbs one round usually disturbs both sides of it. */
function pairedRatio({ rounds }: Figure): number | undefined {
  const baselines = rounds?.baseline;
  if (!rounds || !baselines || baselines.length !== rounds.value.length) return undefined;
  return median(rounds.value.map((value, i) => value / (baselines[i] ?? NaN)));
}

export function formatTable(figures: readonly JudgedFigure[]): string {
  const header = ['', 'measured', 'baseline', 'ratio', 'target', ''];
  const rows = figures.map((figure) => [
    figure.name,
    `${shown(figure.value)} ${figure.unit}`,
    figure.baseline ? `${shown(figure.baseline.value)} ${figure.baseline.name}` : '',
    figure.ratio === undefined ? '' : `${shown(figure.ratio)} x`,
    figure.target
      ? `${figure.target.is === 'at least' ? '>=' : '<='} ${figure.target.value}${figure.target.of === 'ratio' ? ' x' : ` ${figure.unit}`}`
      : '',
    figure.verdict,
  ]);
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const formatLine = (row: string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  const body = figures.flatMap((figure, i) => {
    const line = formatLine(rows[i] ?? []).trimEnd();
    return figure.note === undefined ? [line] : [line, ...figure.note.split('\n').map((text) => `    ${text}`)];
  });
  return [formatLine(header).trimEnd(), rule, ...body].join('\n');
}

export function shown(value: number): string {
  if (!Number.isFinite(value)) return 'not measured';
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
