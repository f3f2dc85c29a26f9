import type { Session } from '../declare.ts';

export async function revokeShares({ client, terminal, isJson }: Session, id: string): Promise<void> {
  const answer = await client.call('revokeShares', { path: { email_id: id } });
  if (isJson) return terminal.printJson(answer);
  terminal.print(answer.revoked === 1 ? '1 link revoked' : `${answer.revoked} links revoked`);
}
