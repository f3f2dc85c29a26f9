import type { CreateContactPropertyRequest } from '../../../src/contract/index.ts';
import { readFallback } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export interface CreatePropertyOptions {
  type: CreateContactPropertyRequest['type'];
  fallback?: string;
}

export async function createProperty(session: Session, key: string, options: CreatePropertyOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { type, fallback } = options;
  const body = { key, type, ...(fallback === undefined ? {} : { fallback_value: readFallback(type, fallback) }) };
  const created = await client.call('createContactProperty', { body });
  if (isJson) return terminal.printJson(created);
  terminal.print(terminal.isTty ? `Declared  ${created.id}` : created.id);
}
