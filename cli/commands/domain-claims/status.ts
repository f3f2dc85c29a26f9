import type { Session } from '../declare.ts';
import { findDomainId } from '../domains/find-domain.ts';
import { printClaim } from './state.ts';

export async function showClaim(session: Session, domain: string): Promise<void> {
  const { client, terminal, isJson } = session;
  const claim = await client.call('getDomainClaim', { path: { domain_id: await findDomainId(client, domain) } });
  if (isJson) terminal.printJson(claim);
  else printClaim(session, claim);
}
