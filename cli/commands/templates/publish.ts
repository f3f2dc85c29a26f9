import type { Session } from '../declare.ts';

export async function publishTemplate({ client, terminal, isJson }: Session, template: string): Promise<void> {
  const answer = await client.call('publishTemplate', { path: { template } });
  if (isJson) return terminal.printJson(answer);
  terminal.print(terminal.isTty ? `Published  ${answer.id}` : answer.id);
}
