import type { Session } from '../declare.ts';
import { findDomainId } from './find-domain.ts';
import { printDomain } from './records.ts';

export async function verifyDomain(session: Session, domain: string): Promise<void> {
  const { client, terminal, isJson } = session;
  const path = { domain_id: await findDomainId(client, domain) };
  const checked = await client.call('verifyDomain', { path });
  if (isJson) return terminal.printJson(checked);
  const found = await client.call('getDomain', { path });
  printDomain(terminal, found, false);
  if (found.status !== 'verified') {
    terminal.hint('\nA new record may take a while to be seen; it is looked for again within the hour.');
  }
}
