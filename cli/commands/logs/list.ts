import { formatTable, formatTime } from '../../output/index.ts';
import { hintMore, type Paging, type Session } from '../declare.ts';

export interface ListLogsOptions extends Paging {
  status?: number;
  startDate?: string;
  endDate?: string;
}

export async function listLogs({ client, terminal, isJson }: Session, options: ListLogsOptions): Promise<void> {
  const { limit, after, before, status, startDate, endDate } = options;
  const query = { limit, after, before, response_status: status, start_date: startDate, end_date: endDate };
  const page = await client.call('listLogs', { query });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) return terminal.hint('There are no such requests.');
  const table = formatTable(terminal, page.data, [
    { title: 'ID', value: (log) => log.id, isWhole: true },
    { title: 'RECEIVED', value: (log) => formatTime(terminal, log.created_at) },
    {
      title: 'STATUS',
      value: (log) => log.response_status,
      style: (log) => (log.response_status < 400 ? 'green' : 'red'),
    },
    { title: 'METHOD', value: (log) => log.method },
    { title: 'ENDPOINT', value: (log) => log.endpoint },
    { title: 'USER AGENT', value: (log) => log.user_agent },
  ]);
  terminal.print(table);
  hintMore(terminal, 'logs list', page);
}
