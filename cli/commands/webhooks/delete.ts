import type { Session } from '../declare.ts';

export async function deleteWebhook({ client, terminal, isJson }: Session, id: string): Promise<void> {
  const removed = await client.call('deleteWebhook', { path: { webhook_id: id } });
  if (isJson) return terminal.printJson(removed);
  terminal.print(terminal.isTty ? `Removed  ${removed.id}` : removed.id);
}
