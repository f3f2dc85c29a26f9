import type { CallOf, OperationId } from '../client/index.ts';
import type { Report } from '../families/family.ts';
import { formatTable, shownFields, tableColumns } from '../output/index.ts';
import type { Session } from './session.ts';

export async function runReport({ client, terminal, isJson, here }: Session, report: Report): Promise<void> {
  const answer = await client.call(report.operation, {} as CallOf<OperationId>);
  if (isJson) return terminal.printJson(answer);
  if (report.tell) terminal.tell(here(report.tell(answer as never)));
  if (report.tell && report.rows(answer as never).length === 0) return;
  const columns = tableColumns(terminal, shownFields(report.columns));
  terminal.print(formatTable(terminal, report.rows(answer as never), columns));
  const hint = report.hint?.(answer as never);
  if (hint) terminal.hint(here(hint));
}
