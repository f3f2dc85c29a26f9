import type { Session } from '../declare.ts';
import { findDomainId } from '../domains/find-domain.ts';
import { hintNext, printClaim } from './show-claim.ts';

export async function verifyClaim(session: Session, domain: string): Promise<void> {
  const { client, terminal, isJson } = session;
  const claim = await client.call('verifyDomainClaim', { path: { domain_id: await findDomainId(client, domain) } });
  if (isJson) return terminal.printJson(claim);
  printClaim(session, claim);
  hintNext(session, claim);
}
