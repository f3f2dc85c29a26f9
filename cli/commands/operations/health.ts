import { formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function getHealth({ client, terminal, isJson }: Session): Promise<void> {
  const health = await client.call('getHealth', {});
  if (isJson) return terminal.printJson(health);
  const pairs = formatPairs(terminal, [
    ['Status', health.status],
    ['Version', health.version],
    ['Environment', health.env],
    ['Server', client.url],
  ]);
  terminal.print(pairs);
}
