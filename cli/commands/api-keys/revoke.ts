import type { Session } from '../declare.ts';

export async function revokeApiKey({ client, terminal, isJson }: Session, id: string): Promise<void> {
  const revoked = await client.call('deleteApiKey', { path: { api_key_id: id } });
  if (isJson) return terminal.printJson(revoked);
  terminal.print(terminal.isTty ? `Revoked  ${revoked.id}` : revoked.id);
}
