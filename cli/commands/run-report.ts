import type { CallOf, OperationId } from '../client/index.ts';
import type { Report } from '../families/family.ts';
import { formatFindings, formatTable, shownFields, tableColumns, type FindingText } from '../output/index.ts';
import type { Session } from './session.ts';

export async function runReport(
  { client, terminal, isJson, advise, sayCommand }: Session,
  report: Report,
): Promise<void> {
  const answer = await client.call(report.operation, {} as CallOf<OperationId>);
  if (isJson) return terminal.printJson(answer);
  const told = report.describe?.(answer as never) ?? '';
  if (told !== '') terminal.printText(told);
  const rows = report.rows(answer as never, sayCommand);
  if (rows.length > 0 && report.hasFindings && terminal.isTty) {
    terminal.print(formatFindings(terminal, rows as readonly FindingText[]));
  } else if (rows.length > 0 || !report.describe) {
    terminal.print(formatTable(terminal, rows, tableColumns(terminal, shownFields(report.columns))));
  }
  advise(report.hint?.(answer as never));
}
