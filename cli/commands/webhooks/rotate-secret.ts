import { formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function rotateWebhookSecret({ client, terminal, isJson }: Session, id: string): Promise<void> {
  const rotated = await client.call('rotateWebhookSecret', { path: { webhook_id: id } });
  if (isJson) return terminal.printJson(rotated);
  const pairs = formatPairs(terminal, [
    ['Id', rotated.id],
    ['Signing secret', rotated.signing_secret],
  ]);
  terminal.print(terminal.isTty ? pairs : `${rotated.id}\t${rotated.signing_secret}`);
  terminal.hint('This is the only time the secret is shown. Deliveries carry a signature of the old one for 24 hours.');
}
