import type { Session } from '../declare.ts';
import { formatEvents } from './event-table.ts';

export async function listParkedWebhookEvents(
  { client, terminal, isJson }: Session,
  id: string,
  { limit }: { limit?: number },
): Promise<void> {
  const page = await client.call('listParkedWebhookEvents', { path: { webhook_id: id }, query: { limit } });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) return terminal.hint('Nothing is parked.');
  terminal.print(formatEvents(terminal, page.data));
  if (page.has_more) terminal.hint('There are more; they show as these are replayed, or with --limit 100.');
}
