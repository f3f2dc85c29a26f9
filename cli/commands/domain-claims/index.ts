import type { Command } from 'commander';
import { domainClaims, verifyClaim } from '../../families/domain-claims.ts';
import { act, declareCommand, wholeNumber } from '../declare.ts';
import { addWords, declareFamily } from '../declare-family.ts';

/** Claims are of domains, and are spoken of with them: `rasket domains claim`. */
export const addDomainClaimCommands = (program: Command): void =>
  declareFamily(program, domainClaims, (domains) => {
    declareClaim(domains);
    declareVerify(domains);
  });

function declareVerify(domains: Command): void {
  const command = declareCommand(domains, verifyClaim.verb, verifyClaim);
  addWords(command, verifyClaim.path).action(
    act(async (session, [domain = '']) => (await import('./verify.ts')).verifyClaim(session, domain)),
  );
}

function declareClaim(domains: Command): void {
  declareCommand(domains, 'claim', {
    summary: 'take over a domain that another team has verified',
    description:
      'Prints the TXT record that shows that the domain is yours. Run again while the claim is open, it prints the same one. The domain moves once the record is seen (domains claim-verify, or the hourly check) and its owner neither verified it within 72 hours, nor has sent from it within 24 hours, nor has mail scheduled from it. Then publish your own records within 72 hours: domains configure.',
    example: 'domains claim mail.example.com',
  })
    .argument('<name>', 'the very name that the other team has verified')
    .option('--region <region>', 'where its mail will leave from')
    .option('--custom-return-path <label>', 'the label of the records to which bounces come back (default: send)')
    .option('--wait', 'check every minute until the claim is over or blocked, and say so by the exit status')
    .option('--wait-minutes <n>', 'how long to wait at most (default: 60)', wholeNumber)
    .action(
      act(async (session, [name = ''], options) => (await import('./claim.ts')).claimDomain(session, name, options)),
    );
}
