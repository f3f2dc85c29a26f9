import type { CreateApiKeyRequest } from '../../../src/contract/index.ts';
import { formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { findDomainId } from '../domains/find-domain.ts';

export interface CreateApiKeyOptions {
  permission?: CreateApiKeyRequest['permission'];
  domain?: string;
}

export async function createApiKey(session: Session, name: string, options: CreateApiKeyOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { permission, domain } = options;
  const body = {
    name,
    ...(permission === undefined ? {} : { permission }),
    ...(domain === undefined ? {} : { domain_id: await findDomainId(client, domain) }),
  } as CreateApiKeyRequest;
  const made = await client.call('createApiKey', { body });
  if (isJson) return terminal.printJson(made);
  const pairs = formatPairs(terminal, [
    ['Id', made.id],
    ['API key', made.token],
  ]);
  terminal.print(terminal.isTty ? pairs : `${made.id}\t${made.token}`);
  terminal.hint('This is the only time the key is shown; keep it safe.');
}
