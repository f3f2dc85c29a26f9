import type { Command } from 'commander';
import { act, declareCommand } from '../declare.ts';

export function addShareCommands(program: Command): void {
  const shares = program.command('shares').summary('links that show one email to whoever holds them');
  declareCommand(shares, 'create', {
    summary: 'make a link to a read-only page of an email',
    description: 'Prints a link that opens a read-only page of the email without a sign-in. It cannot be shown again.',
    example: 'shares create 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77 --expires-in "2 hours"',
  })
    .argument('<email-id>', 'the email')
    .option('--expires-in <time>', 'how long it works, such as 10m or "1 day" (default and most: 48 hours)')
    .action(
      act(async (session, [id = ''], options) => (await import('./create.ts')).createShare(session, id, options)),
    );
  declareCommand(shares, 'revoke', {
    summary: 'stop every link to an email',
    example: 'shares revoke 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
  })
    .argument('<email-id>', 'the email')
    .action(act(async (session, [id = '']) => (await import('./revoke.ts')).revokeShares(session, id)));
}
