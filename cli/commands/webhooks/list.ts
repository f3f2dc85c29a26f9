import { formatTable, formatTime } from '../../output/index.ts';
import { hintMore, type Paging, type Session } from '../declare.ts';

export async function listWebhooks({ client, terminal, isJson }: Session, options: Paging): Promise<void> {
  const { limit, after, before } = options;
  const page = await client.call('listWebhooks', { query: { limit, after, before } });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) {
    return terminal.hint('There are no endpoints. Add one with: rasket webhooks create <url> --events email.delivered');
  }
  const table = formatTable(terminal, page.data, [
    { title: 'ID', value: (webhook) => webhook.id, isWhole: true },
    {
      title: 'STATUS',
      value: (webhook) => webhook.status,
      style: (webhook) => (webhook.status === 'enabled' ? 'green' : 'red'),
    },
    { title: 'ENDPOINT', value: (webhook) => webhook.endpoint },
    { title: 'EVENTS', value: (webhook) => webhook.events.join(' ') },
    { title: 'CREATED', value: (webhook) => formatTime(terminal, webhook.created_at) },
  ]);
  terminal.print(table);
  hintMore(terminal, 'webhooks list', page);
}
