import type { Command } from 'commander';
import { act, declareCommand, wholeNumber } from '../declare.ts';

/** Claims are of domains, and are spoken of with them: `rasket domains claim`. */
export function addDomainClaimCommands(program: Command): void {
  const domains = program.commands.find((command) => command.name() === 'domains');
  if (!domains) throw new Error('the commands of domains are added before those of their claims');
  declareClaim(domains);
  declareCommand(domains, 'claim-status', {
    summary: 'show how far a claim has come',
    description: 'Shows the latest claim of a domain, without looking anything up.',
    example: 'domains claim-status mail.example.com',
  })
    .argument('<domain>', 'its id or name')
    .action(act(async (session, [domain = '']) => (await import('./status.ts')).showClaim(session, domain)));
  declareCommand(domains, 'claim-verify', {
    summary: 'check a claim’s TXT record now',
    description:
      'Looks the TXT record up now and moves the domain to your team if nothing blocks it; once a minute for each domain. An open claim is also checked every hour.',
    example: 'domains claim-verify mail.example.com',
  })
    .argument('<domain>', 'its id or name')
    .action(act(async (session, [domain = '']) => (await import('./verify.ts')).verifyClaim(session, domain)));
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
    .option('--open-tracking', 'count opens')
    .option('--no-open-tracking', 'do not count opens')
    .option('--click-tracking', 'count clicks')
    .option('--no-click-tracking', 'do not count clicks')
    .option('--tracking-subdomain <label>', 'the label under which tracked links are served')
    .option('--wait', 'check every minute until the claim is over or blocked, and say so by the exit status')
    .option('--wait-minutes <n>', 'how long to wait at most (default: 60)', wholeNumber)
    .action(
      act(async (session, [name = ''], options) => (await import('./claim.ts')).claimDomain(session, name, options)),
    );
}
