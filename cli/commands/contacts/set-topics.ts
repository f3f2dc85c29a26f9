import { readTopics } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function setTopics(session: Session, contact: string, { topic }: { topic: string[] }): Promise<void> {
  const { client, terminal, isJson } = session;
  const body = { topics: readTopics(topic) };
  const set = await client.call('updateContactTopics', { path: { contact }, body });
  if (isJson) return terminal.printJson(set);
  terminal.print(set.topics.map(({ id, subscription }) => `${id}\t${subscription}`).join('\n'));
}
