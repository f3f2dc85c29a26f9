import { grouped, toneOfFinding } from '../families/index.ts';
import { clean } from './clean.ts';
import { toStyle } from './items.ts';
import { fitProse } from './prose.ts';
import type { Style, Terminal } from './terminal.ts';
import { formatTime } from './time.ts';

/** Lines of prose are hard to read if they are longer, however wide the terminal is. */
const PROSE_COLUMNS = 80;
const INDENT = '  ';

/** A finding as a row of a table, whose details may be missing. */
export interface FindingText {
  severity: 'error' | 'warning';
  code: string;
  summary: string;
  advice: string;
  command: string;
  since?: string | null;
  /** The number of things that are affected. */
  count?: number;
}

/**
 * Formats findings for a person, a paragraph for each: severity and code, what is wrong, what to do, the command to
 * copy on a line of its own, and since when.
 */
export const formatFindings = (terminal: Terminal, findings: readonly FindingText[]): string =>
  findings.map((finding) => formatFinding(terminal, finding)).join('\n\n');

function formatFinding(terminal: Terminal, finding: FindingText): string {
  const { severity, code, summary, advice, command, since, count } = finding;
  const head = `${terminal.paint(toStyle(toneOfFinding(finding)), severity)}  ${terminal.paint('bold', clean(code))}`;
  const facts = [
    ...(since === undefined || since === null ? [] : [`since ${formatTime(terminal, since)}`]),
    ...(count === undefined || count < 2 ? [] : [`${grouped(count)} affected`]),
  ].join(', ');
  const sentences = [summary, advice].map((text) => wrap(terminal, clean(text)));
  const began = facts === '' ? [] : [INDENT + terminal.paint('dim', facts)];
  // The command is not wrapped, so that copying returns it whole.
  const line = command === '' ? [] : [`${INDENT}${clean(command)}`];
  return [head, ...sentences.filter((text) => text !== ''), ...line, ...began].join('\n');
}

const wrap = (terminal: Terminal, text: string): string =>
  text === '' ? '' : fitProse(INDENT + text, Math.min(terminal.columns, PROSE_COLUMNS));

/** Cells that are aligned, and a text after them that continues below itself. */
export interface ProseRow {
  cells: readonly (readonly [text: string, style: Style])[];
  text: string;
}

/** The text goes below the cells if less space than this is left beside them. */
const TEXT_MIN = 30;

/** Formats rows that end with a sentence, which is wrapped between words. */
export function formatProseRows(terminal: Terminal, rows: readonly ProseRow[]): string {
  const widths = rows.reduce<number[]>(
    (all, { cells }) => cells.map(([text], at) => Math.max(all[at] ?? 0, text.length)),
    [],
  );
  const columns = Math.min(
    terminal.columns,
    Math.max(
      PROSE_COLUMNS,
      widths.reduce((sum, width) => sum + width, 0),
    ),
  );
  return rows
    .map(({ cells, text }) => {
      const plain = cells.map(([cell], at) => cell.padEnd(widths[at] ?? 0)).join(INDENT);
      const head = cells
        .map(([cell, style], at) => terminal.paint(style, cell) + ' '.repeat((widths[at] ?? 0) - cell.length))
        .join(INDENT);
      if (text === '') return head.trimEnd();
      const start = plain.length + INDENT.length;
      if (columns - start < TEXT_MIN) return `${head.trimEnd()}\n${fitProse(INDENT + clean(text), columns)}`;
      return head + INDENT + fitProse(' '.repeat(start) + clean(text), columns).slice(start);
    })
    .join('\n');
}
