import type { Session } from '../declare.ts';

export async function reschedule(session: Session, id: string, options: { scheduledAt: string }): Promise<void> {
  const { client, terminal, isJson } = session;
  const body = { scheduled_at: options.scheduledAt };
  const changed = await client.call('updateEmail', { path: { email_id: id }, body });
  if (isJson) return terminal.printJson(changed);
  terminal.print(terminal.isTty ? `Moved  ${changed.id}` : changed.id);
}

export async function cancel(session: Session, id: string): Promise<void> {
  const { client, terminal, isJson } = session;
  const changed = await client.call('cancelEmail', { path: { email_id: id } });
  if (isJson) return terminal.printJson(changed);
  terminal.print(terminal.isTty ? `Canceled  ${changed.id}` : changed.id);
}
