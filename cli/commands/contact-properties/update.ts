import { CliFault, readFallback } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export interface UpdatePropertyOptions {
  fallback?: string;
  clearFallback?: boolean;
}

export async function updateProperty(session: Session, id: string, options: UpdatePropertyOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { fallback, clearFallback } = options;
  if ((fallback === undefined) === (clearFallback === undefined)) {
    throw new CliFault('give --fallback or --clear-fallback, one of the two', 'usage');
  }
  const path = { contact_property_id: id };
  const value = fallback === undefined ? null : await valueOf(session, path, fallback);
  const changed = await client.call('updateContactProperty', { path, body: { fallback_value: value } });
  if (isJson) return terminal.printJson(changed);
  terminal.print(terminal.isTty ? `Changed  ${changed.id}` : changed.id);
}

async function valueOf({ client }: Session, path: { contact_property_id: string }, text: string) {
  return readFallback((await client.call('getContactProperty', { path })).type, text);
}
