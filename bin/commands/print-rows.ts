import { formatTable, openTerminal, type Column, type Terminal } from '../../cli/output/index.ts';

/** As every list: a table for a person, titles and tabs for a program, or `--json`. */
export function printRows<Row>(
  rows: readonly Row[],
  columnsFor: (terminal: Terminal) => readonly Column<Row>[],
  { json: isJson, none }: { json?: boolean | undefined; none: string },
): void {
  if (isJson) return console.log(JSON.stringify(rows));
  const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
  if (rows.length === 0) terminal.hint(none);
  if (rows.length > 0 || !terminal.isTty) terminal.print(formatTable(terminal, rows, columnsFor(terminal)));
}
