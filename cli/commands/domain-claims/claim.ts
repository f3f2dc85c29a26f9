import type { ClaimDomainRequest } from '../../../src/contract/index.ts';
import type { Session } from '../declare.ts';
import { printClaim } from './show-claim.ts';
import { waitUntilOver } from './wait.ts';

export interface ClaimOptions {
  region?: ClaimDomainRequest['region'];
  customReturnPath?: string;
  wait?: boolean;
  waitMinutes?: number;
}

const WAIT_MINUTES = 60;

export async function claimDomain(session: Session, name: string, options: ClaimOptions): Promise<void> {
  const { region, customReturnPath } = options;
  const body: ClaimDomainRequest = {
    name,
    ...(region === undefined ? {} : { region }),
    ...(customReturnPath === undefined ? {} : { custom_return_path: customReturnPath }),
  };
  const claim = await session.client.call('claimDomain', { body });
  if (options.wait || options.waitMinutes !== undefined) {
    if (!session.isJson) printClaim(session, claim);
    return waitUntilOver(session, claim, (options.waitMinutes ?? WAIT_MINUTES) * 60_000);
  }
  if (session.isJson) return session.terminal.printJson(claim);
  printClaim(session, claim);
  session.terminal.hint(
    `\nPublish this record (by hand, or: rasket domains configure ${claim.name}), then run: rasket domains claim-verify ${claim.name}`,
  );
  session.terminal.hint(`Publish your own DNS records too, and nothing is lost: rasket domains get ${claim.name}`);
}
