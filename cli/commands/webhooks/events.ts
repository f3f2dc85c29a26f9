import type { QueryOf } from '../../client/index.ts';
import { hintMore, type Paging, type Session } from '../declare.ts';
import { formatEvents } from './event-table.ts';

export interface ListWebhookEventsOptions extends Paging {
  status?: QueryOf<'listWebhookEvents'>['status'];
  type?: QueryOf<'listWebhookEvents'>['type'];
  startDate?: string;
  endDate?: string;
}

export async function listWebhookEvents(
  { client, terminal, isJson }: Session,
  id: string,
  options: ListWebhookEventsOptions,
): Promise<void> {
  const { limit, after, before, status, type, startDate, endDate } = options;
  const query = { limit, after, before, status, type, start_date: startDate, end_date: endDate };
  const page = await client.call('listWebhookEvents', { path: { webhook_id: id }, query });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) return terminal.hint('There are no such events.');
  terminal.print(formatEvents(terminal, page.data));
  hintMore(terminal, `webhooks events ${id}`, page);
}
