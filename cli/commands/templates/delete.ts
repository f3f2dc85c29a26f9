import type { Session } from '../declare.ts';

export async function deleteTemplate({ client, terminal, isJson }: Session, template: string): Promise<void> {
  const answer = await client.call('deleteTemplate', { path: { template } });
  if (isJson) return terminal.printJson(answer);
  terminal.print(terminal.isTty ? `Removed  ${answer.id}` : answer.id);
}
