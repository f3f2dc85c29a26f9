import { CliFault, readProperties } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readNames, type NameOptions } from './read-values.ts';

export interface UpdateContactOptions extends NameOptions {
  email?: string;
  unsubscribed?: boolean;
  clearProperty?: string[];
}

export async function updateContact(session: Session, contact: string, options: UpdateContactOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { email, unsubscribed, property, clearProperty = [] } = options;
  const cleared = Object.fromEntries(clearProperty.map((key) => [key, null]));
  const body = {
    ...readNames(options),
    ...(email === undefined ? {} : { email }),
    ...(unsubscribed === undefined ? {} : { unsubscribed }),
    ...(property || clearProperty.length > 0 ? { properties: { ...readProperties(property ?? []), ...cleared } } : {}),
  };
  if (Object.keys(body).length === 0) {
    throw new CliFault('name at least one thing to change. See them with: rasket contacts update --help', 'usage');
  }
  const changed = await client.call('updateContact', { path: { contact }, body });
  if (isJson) return terminal.printJson(changed);
  terminal.print(terminal.isTty ? `Changed  ${changed.id}` : changed.id);
}
