import { hintMore, type Session } from '../declare.ts';
import { formatEvents } from './event-table.ts';

export async function listParkedWebhookEvents(
  { client, terminal, isJson }: Session,
  id: string,
  { limit, after, startDate }: { limit?: number; after?: string; startDate?: string },
): Promise<void> {
  const query = { limit, after, start_date: startDate };
  const page = await client.call('listParkedWebhookEvents', { path: { webhook_id: id }, query });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) return terminal.hint('Nothing is parked.');
  terminal.print(formatEvents(terminal, page.data));
  hintMore(terminal, `webhooks parked ${id}`, page);
}
