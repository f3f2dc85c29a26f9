import { cleanLines, formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function getWebhookEvent(
  { client, terminal, isJson }: Session,
  webhook: string,
  id: string,
): Promise<void> {
  const event = await client.call('getWebhookEvent', { path: { webhook_id: webhook, event_id: id } });
  if (isJson) return terminal.printJson(event);
  const pairs = formatPairs(terminal, [
    ['Id', event.id],
    ['Type', event.type],
    ['Created', event.created_at],
    ['Status', event.status],
    ['Attempts', event.attempt_count],
    ['Last answer', event.last_http_status],
    ['Next attempt', event.next_attempt_at],
  ]);
  terminal.print([pairs, cleanLines(JSON.stringify(event.payload, null, 2))].join('\n\n'));
}
