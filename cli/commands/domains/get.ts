import type { Session } from '../declare.ts';
import { findDomainId } from './find-domain.ts';
import { printDomain } from './records.ts';

export async function getDomain(session: Session, domain: string, options: { zone?: boolean }): Promise<void> {
  const { client, terminal, isJson } = session;
  const found = await client.call('getDomain', { path: { domain_id: await findDomainId(client, domain) } });
  if (isJson) terminal.printJson(found);
  else printDomain(terminal, found, options.zone ?? false);
}
