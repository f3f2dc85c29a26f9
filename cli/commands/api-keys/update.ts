import type { Session } from '../declare.ts';

export async function updateApiKey(session: Session, id: string, { name }: { name: string }): Promise<void> {
  const { client, terminal, isJson } = session;
  const changed = await client.call('updateApiKey', { path: { api_key_id: id }, body: { name } });
  if (isJson) return terminal.printJson(changed);
  terminal.print(terminal.isTty ? `Renamed  ${changed.id}` : changed.id);
}
