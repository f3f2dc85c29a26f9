import { formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function getWebhook({ client, terminal, isJson }: Session, id: string): Promise<void> {
  const webhook = await client.call('getWebhook', { path: { webhook_id: id } });
  if (isJson) return terminal.printJson(webhook);
  const pairs = formatPairs(terminal, [
    ['Id', webhook.id],
    ['Endpoint', webhook.endpoint],
    ['Status', webhook.status],
    ['Events', webhook.events.join(' ')],
    ['Signing secret', webhook.signing_secret],
    ['Created', webhook.created_at],
  ]);
  terminal.print(pairs);
}
