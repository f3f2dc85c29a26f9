import type { BodyOf } from '../../client/index.ts';
import type { Session } from '../declare.ts';
import { prepare, type Call } from '../run-action.ts';
import { printClaim } from './show-claim.ts';
import { waitUntilOver } from './wait.ts';

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
    { words: 'Then have it looked up with', command: ['verifyDomainClaim', claim.name] },
    {
      words: 'Publish your own DNS records too, and nothing is lost; see them with',
      command: ['getDomain', claim.name],
    },
  ]);
}
