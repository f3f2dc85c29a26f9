import { ApiFault, type BodyOf } from '../../client/index.ts';
import type { Session } from '../declare.ts';
import { prepare, type Call } from '../run-action.ts';
import type { DomainClaim } from '../../../src/contract/index.ts';
import { CliFault, formatItem, shownFields } from '../../output/index.ts';
import { domainClaims, nextForClaim } from '../../families/domain-claims.ts';

/** A little more than the minute in which one check is let through. */
const PAUSE_MS = 61_000;

/** A blocked claim waits for hours or days: that is the server's to do. */
async function waitUntilOver(session: Session, opened: DomainClaim, limitMs: number): Promise<void> {
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
    throw new CliFault(`the TXT record was not found within ${minutes} min; the server keeps checking.`, 'failed', {
      words: 'See its status with',
      command: ['getDomainClaim', claim.name],
    });
  }
  session.fail();
}

async function check({ client }: Session, claim: DomainClaim): Promise<DomainClaim | undefined> {
  try {
    return await client.call('verifyDomainClaim', { path: { domain_id: claim.domain_id ?? '' } });
  } catch (error) {
    // Somebody else of the team has just asked; the request can be repeated soon.
    if (error instanceof ApiFault && error.body.name === 'rate_limit_exceeded') return undefined;
    throw error;
  }
}

const WAIT_MINUTES = 60;

export async function claimDomain(session: Session, call: Call): Promise<void> {
  const { wait, waitMinutes }: { wait?: boolean; waitMinutes?: number } = call.options;
  const [, body] = await prepare(session, call);
  const claim = await session.client.call('claimDomain', { body: body as BodyOf<'claimDomain'> });
  if (wait || waitMinutes !== undefined) {
    if (!session.isJson) printClaim(session, claim);
    return waitUntilOver(session, claim, (waitMinutes ?? WAIT_MINUTES) * 60_000);
  }
  if (session.isJson) return session.terminal.printJson(claim);
  printClaim(session, claim);
  session.terminal.hint('');
  session.advise([
    { words: 'Publish this record by hand or with', command: ['configureDomainDns', claim.name] },
    { words: 'Then have it checked with', command: ['verifyDomainClaim', claim.name] },
    {
      words: 'Publish your own DNS records as well, so that no mail is lost; see them with',
      command: ['getDomain', claim.name],
    },
  ]);
}

function printClaim({ terminal }: Session, claim: DomainClaim): void {
  terminal.print(formatItem(terminal, shownFields(domainClaims.get.fields), claim));
}

function hintNext({ terminal, advise }: Session, claim: DomainClaim): void {
  const next = nextForClaim(claim);
  if (next !== undefined) terminal.hint('');
  advise(next);
}
