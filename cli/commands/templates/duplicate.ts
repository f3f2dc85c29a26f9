import type { Session } from '../declare.ts';

export async function duplicateTemplate({ client, terminal, isJson }: Session, template: string): Promise<void> {
  const answer = await client.call('duplicateTemplate', { path: { template } });
  if (isJson) return terminal.printJson(answer);
  terminal.print(terminal.isTty ? `Created  ${answer.id}` : answer.id);
}
