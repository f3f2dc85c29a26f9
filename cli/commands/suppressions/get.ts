import { formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function getSuppression({ client, terminal, isJson }: Session, suppression: string): Promise<void> {
  const found = await client.call('getSuppression', { path: { suppression } });
  if (isJson) return terminal.printJson(found);
  const pairs = formatPairs(terminal, [
    ['Id', found.id],
    ['Address', found.email],
    ['Origin', found.origin],
    ['By email', found.source_id],
    ['Created', found.created_at],
  ]);
  terminal.print(pairs);
}
