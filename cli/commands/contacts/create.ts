import { readProperties, readTopics } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readNames, type NameOptions } from './read-values.ts';

export interface CreateContactOptions extends NameOptions {
  unsubscribed?: boolean;
  segment?: string[];
  topic?: string[];
}

export async function createContact(session: Session, email: string, options: CreateContactOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { unsubscribed, property, segment, topic } = options;
  const body = {
    email,
    ...readNames(options),
    ...(unsubscribed === undefined ? {} : { unsubscribed }),
    ...(property ? { properties: readProperties(property) } : {}),
    ...(segment ? { segments: segment } : {}),
    ...(topic ? { topics: readTopics(topic) } : {}),
  };
  const made = await client.call('createContact', { body });
  if (isJson) return terminal.printJson(made);
  terminal.print(made.id);
}
