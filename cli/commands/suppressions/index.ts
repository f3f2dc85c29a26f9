import type { Command } from 'commander';
import { act, addPaging, declareCommand } from '../declare.ts';

export function addSuppressionCommands(program: Command): void {
  const suppressions = program.command('suppressions').summary('the addresses that no mail goes to');
  declareCommand(suppressions, 'add', {
    summary: 'suppress one or more addresses',
    description: 'Stops all mail of this team to the addresses, at most 100 at once.',
    example: 'suppressions add someone@example.org other@example.org',
  })
    .argument('<address...>', 'the addresses')
    .action(act(async (session, words) => (await import('./add.ts')).addSuppressions(session, words)));
  const list = declareCommand(suppressions, 'list', {
    summary: 'list suppressed addresses, newest first',
    example: 'suppressions list --origin bounce',
  });
  addPaging(list)
    .option('--origin <origin>', 'only those suppressed by a bounce, by a complaint or as manual')
    .action(act(async (session, _, options) => (await import('./list.ts')).listSuppressions(session, options)));
  declareCommand(suppressions, 'get', {
    summary: 'show why and since when an address is suppressed',
    example: 'suppressions get someone@example.org',
  })
    .argument('<suppression>', 'its id (sup_…) or the address')
    .action(
      act(async (session, [suppression = '']) => (await import('./get.ts')).getSuppression(session, suppression)),
    );
  declareCommand(suppressions, 'remove', {
    summary: 'lift one or more suppressions',
    description:
      'Lets mail go to the addresses again. One that is not suppressed is refused when it stands alone and skipped among several, at most 100.',
    example: 'suppressions remove someone@example.org',
  })
    .argument('<suppression...>', 'ids (sup_…) or addresses, not both')
    .action(act(async (session, words) => (await import('./remove.ts')).removeSuppressions(session, words)));
}
