import type { QueryOf } from '../../client/index.ts';
import { buildColumns, SHORT, totalColumns, buildTotals } from '../../families/metrics.ts';
import { formatTable, formatTime, tableColumns } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readSince } from '../read-since.ts';

export interface MetricsOptions {
  startDate?: string;
  since?: string;
  endDate?: string;
  timezone?: string;
  granularity?: QueryOf<'getEmailMetrics'>['granularity'];
  metrics?: string;
  dimensions?: string;
  domainId?: string;
  emailId?: string;
  broadcastId?: string;
  tag?: string;
}

export async function getEmailMetrics(session: Session, options: MetricsOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { timezone, granularity, dimensions } = options;
  const isTable = dimensions !== undefined && !isJson;
  const answer = await client.call('getEmailMetrics', {
    query: {
      start_date: options.since === undefined ? options.startDate : readSince(options.since, Date.now()),
      end_date: options.endDate,
      timezone,
      granularity,
      metrics: options.metrics ?? (isTable ? SHORT : undefined),
      dimensions,
      domain_id: options.domainId,
      email_id: options.emailId,
      broadcast_id: options.broadcastId,
      tag: options.tag,
    },
  });
  if (isJson) return terminal.printJson(answer);
  const [from, to] = [answer.start_date, answer.end_date].map((time) => formatTime(terminal, time));
  terminal.hint(`${from} to ${to}`);
  terminal.print(
    answer.data
      ? formatTable(terminal, answer.data, tableColumns(terminal, buildColumns(answer)))
      : formatTable(terminal, buildTotals(answer), tableColumns(terminal, totalColumns)),
  );
}
