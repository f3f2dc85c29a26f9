import { cleanLines } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { findDomainId } from '../domains/find-domain.ts';

export async function printZone({ client, terminal, isJson }: Session, domain: string): Promise<void> {
  const zone = await client.call('getDomainZone', { path: { domain_id: await findDomainId(client, domain) } });
  if (isJson) terminal.printJson(zone);
  else terminal.print(cleanLines(zone).replace(/\n$/, ''));
}
