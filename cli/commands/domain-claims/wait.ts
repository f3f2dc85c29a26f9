import type { DomainClaim } from '../../../src/contract/index.ts';
import { ApiFault } from '../../client/index.ts';
import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { hintNext, printClaim } from './show-claim.ts';

/** A little more than the minute in which one check is let through. */
const PAUSE_MS = 61_000;

/** A blocked claim waits for hours or days: that is the server's to do. */
export async function waitUntilOver(session: Session, opened: DomainClaim, limitMs: number): Promise<void> {
  const { terminal, isJson } = session;
  const began = performance.now();
  let claim = opened;
  for (;;) {
    claim = (await check(session, claim)) ?? claim;
    const leftMs = limitMs - (performance.now() - began);
    if (claim.status !== 'pending' || claim.blocked_reason !== null || leftMs <= 0) break;
    terminal.progress(`${claim.name}  ${claim.record.diagnosis ?? claim.status}`);
    await new Promise((resolve) => void setTimeout(resolve, Math.min(PAUSE_MS, leftMs)));
  }
  terminal.progress('');
  if (isJson) terminal.printJson(claim);
  else printClaim(session, claim);
  hintNext(session, claim);
  if (claim.status === 'completed') return;
  if (claim.status === 'pending' && claim.blocked_reason === null) {
    const minutes = Math.round(limitMs / 60_000);
    throw new CliFault(`the TXT record was not seen in ${minutes} min; it is still looked for.`, 'failed', {
      words: 'See how far it has come with',
      command: ['getDomainClaim', claim.name],
    });
  }
  session.fail();
}

async function check({ client }: Session, claim: DomainClaim): Promise<DomainClaim | undefined> {
  try {
    return await client.call('verifyDomainClaim', { path: { domain_id: claim.domain_id ?? '' } });
  } catch (error) {
    // Somebody else of the team has just asked; it can be asked again soon.
    if (error instanceof ApiFault && error.body.name === 'rate_limit_exceeded') return undefined;
    throw error;
  }
}
