import { cleanJson, type Column, formatTable, openTerminal, type Terminal } from '../../cli/output/index.ts';

/**
 * Prints rows like every other list: for a person one line per row without ids; for a program titles and tabs, or
 * `--json`.
 */
export function printRows<Row>(
  rows: readonly Row[],
  columnsFor: (terminal: Terminal) => readonly Column<Row>[],
  {
    json: isJson,
    wide: isWide = false,
    none,
    hint,
  }: { json?: boolean | undefined; wide?: boolean | undefined; none: string; hint?: string },
): void {
  if (isJson) return console.log(cleanJson(rows));
  const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
  if (rows.length === 0) terminal.hint(none);
  const all = columnsFor(terminal);
  const columns = terminal.isTty && !isWide ? all.filter(({ title }) => title !== 'ID') : all;
  if (rows.length > 0 || !terminal.isTty)
    terminal.print(formatTable(terminal, rows, columns, { isWide, isOneLine: true }));
  if (rows.length > 0 && hint !== undefined) terminal.hint(hint);
}
