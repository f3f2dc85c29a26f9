import type { Session } from '../declare.ts';
import { findDomainId } from './find-domain.ts';

export async function deleteDomain({ client, terminal, isJson }: Session, domain: string): Promise<void> {
  const removed = await client.call('deleteDomain', { path: { domain_id: await findDomainId(client, domain) } });
  if (isJson) return terminal.printJson(removed);
  terminal.print(terminal.isTty ? `Removed  ${removed.id}` : removed.id);
}
