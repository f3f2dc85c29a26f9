import { reportTotalsInWords, reporterColumns, sourceColumns } from '../../families/domain-reports.ts';
import type { Typed } from '../../input/index.ts';
import { formatTable, tableColumns } from '../../output/index.ts';
import { readSince } from '../read-since.ts';
import { prepare, type Call } from '../run-action.ts';
import type { Session } from '../session.ts';

/** Shows who sends as a domain and whose TLS fails, in tables. */
export async function showSummary(session: Session, call: Call): Promise<void> {
  const { client, terminal, isJson, advise } = session;
  const [{ domain_id = '' }, query] = await prepare(session, call, (typed) => startSince(typed, call.options['since']));
  const summary = await client.call('getDomainReportSummary', { path: { domain_id }, query });
  if (isJson) return terminal.printJson(summary);
  terminal.printText(reportTotalsInWords(summary));
  const { sources, unlisted_sources: unlisted } = summary.dmarc;
  const { reporters } = summary.tls;
  const tables = [
    ...(sources.length > 0 ? [formatTable(terminal, sources, tableColumns(terminal, sourceColumns()))] : []),
    ...(reporters.length > 0 ? [formatTable(terminal, reporters, tableColumns(terminal, reporterColumns()))] : []),
  ];
  for (const table of tables) terminal.print(`\n${table}`);
  if (unlisted > 0) terminal.hint(`${unlisted} further sources with less mail are not shown.`);
  if (tables.length > 0) advise({ words: 'List the reports with', command: ['listDomainReports', domain_id] });
}

/** Begins the range on the day of a time ago; the API counts whole days. */
function startSince(typed: Typed, since: unknown): Typed {
  if (typeof since !== 'string') return typed;
  return { ...typed, fields: { ...typed.fields, start_date: readSince(since, Date.now()).slice(0, 10) } };
}
