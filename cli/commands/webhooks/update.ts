import type { UpdateWebhookRequest } from '../../../src/contract/index.ts';
import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export interface UpdateWebhookOptions {
  endpoint?: UpdateWebhookRequest['endpoint'];
  events?: UpdateWebhookRequest['events'];
  status?: UpdateWebhookRequest['status'];
}

export async function updateWebhook(session: Session, id: string, options: UpdateWebhookOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { endpoint, events, status } = options;
  const body: UpdateWebhookRequest = {
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(events === undefined ? {} : { events }),
    ...(status === undefined ? {} : { status }),
  };
  if (Object.keys(body).length === 0) {
    throw new CliFault('name what to change. See how with: rasket webhooks update --help', 'usage');
  }
  const changed = await client.call('updateWebhook', { path: { webhook_id: id }, body });
  if (isJson) return terminal.printJson(changed);
  terminal.print(terminal.isTty ? `Changed  ${changed.id}` : changed.id);
  if (status === 'enabled') terminal.hint(`See what was parked meanwhile with: rasket webhooks parked ${changed.id}`);
}
