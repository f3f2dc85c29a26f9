import type { CreateWebhookRequest } from '../../../src/contract/index.ts';
import { CliFault, formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { eventTypesHelp } from './event-types.ts';

export interface CreateWebhookOptions {
  events?: CreateWebhookRequest['events'];
}

export async function createWebhook(session: Session, url: string, { events }: CreateWebhookOptions): Promise<void> {
  if (!events) throw new CliFault(`required option '--events <types>' not specified\n${eventTypesHelp()}`, 'usage');
  const { client, terminal, isJson } = session;
  const made = await client.call('createWebhook', { body: { endpoint: url, events } });
  if (isJson) return terminal.printJson(made);
  const pairs = formatPairs(terminal, [
    ['Id', made.id],
    ['Signing secret', made.signing_secret],
  ]);
  terminal.print(terminal.isTty ? pairs : `${made.id}\t${made.signing_secret}`);
  terminal.hint('This is the only time the signing secret is shown; your program needs it to verify what arrives.');
}
