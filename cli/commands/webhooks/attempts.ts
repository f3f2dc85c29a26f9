import { formatTable, formatTime } from '../../output/index.ts';
import { hintMore, type Paging, type Session } from '../declare.ts';

export async function listWebhookAttempts(
  { client, terminal, isJson }: Session,
  { webhook, event }: { webhook: string; event: string },
  options: Paging,
): Promise<void> {
  const { limit, after, before } = options;
  const path = { webhook_id: webhook, event_id: event };
  const page = await client.call('listWebhookAttempts', { path, query: { limit, after, before } });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) return terminal.hint('There are no such attempts.');
  const table = formatTable(terminal, page.data, [
    { title: 'ID', value: (attempt) => attempt.id, isWhole: true },
    { title: 'SENT', value: (attempt) => formatTime(terminal, attempt.sent_at) },
    { title: 'ATTEMPT', value: (attempt) => attempt.attempt_number },
    { title: 'HTTP', value: (attempt) => attempt.http_status_code },
    { title: 'MS', value: (attempt) => attempt.duration_ms },
    { title: 'ANSWER', value: (attempt) => attempt.error ?? attempt.response },
  ]);
  terminal.print(table);
  hintMore(terminal, `webhooks attempts ${webhook} ${event}`, page);
}
