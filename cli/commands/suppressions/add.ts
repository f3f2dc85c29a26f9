import type { Session } from '../declare.ts';

export async function addSuppressions(session: Session, words: readonly unknown[]): Promise<void> {
  const { client, terminal, isJson } = session;
  const emails = words.flat() as string[];
  const [email] = emails;
  if (emails.length === 1 && email !== undefined) {
    const added = await client.call('createSuppression', { body: { email } });
    return isJson ? terminal.printJson(added) : terminal.print(added.id);
  }
  const added = await client.call('addSuppressions', { body: { emails } });
  if (isJson) return terminal.printJson(added);
  terminal.print(added.data.map((item) => item.id).join('\n'));
}
