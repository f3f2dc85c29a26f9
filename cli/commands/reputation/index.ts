import type { Command } from 'commander';
import { domainReputation } from '../../families/reputation.ts';
import { act, declareCommand, wholeNumber } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';

export function addReputationCommands(program: Command): void {
  declareCommand(program, 'reputation', {
    summary: 'show how providers take the mail of each source and sending domain',
    description:
      'Show what each provider accepted, deferred and bounced of the mail of each source, the complaints, whether that became better or worse, what needs attention, and what blocklists say of each source. The default is the last seven days. It needs the token of an operator, or root on the machine of the server.',
    example: 'reputation --by domain --days 30',
  })
    .option(
      '--by <groups>',
      'what a line is about: source, provider or domain, or several of them (default: source,provider)',
    )
    .option('--days <n>', 'the number of days, today included, 1 to 90 (default: 7)', wholeNumber)
    .option('--source <name>', 'only mail of this source')
    .option('--provider <name>', 'only mail to this provider; other is all receivers without one')
    .option('--domain <name>', 'only mail from this sending domain')
    .option('--limit <n>', 'how many lines to show, 1 to 500, those with most mail first (default: 100)', wholeNumber)
    .action(
      act(async (session, _, options) => (await import('./show.ts')).showReputation(session, options), {
        key: true,
        operator: true,
      }),
    );
}

export const addDomainReputationCommand = (program: Command): void =>
  declareFamily(program, domainReputation, {
    actions: {
      reputation: { run: async (...call) => (await import('./show.ts')).showDomainReputation(...call) },
    },
  });
