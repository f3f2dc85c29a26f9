import type { Command } from 'commander';
import { act, declareCommand } from '../declare.ts';

export function addTeamCommands(program: Command): void {
  const team = program.command('team').summary('your team: its plan, and who says in its mail that it is the sender');
  declareCommand(team, 'get', { summary: 'show your team', example: 'team get' }).action(
    act(async (session) => (await import('./get.ts')).getTeam(session)),
  );
  declareCommand(team, 'update', {
    summary: 'say who sends, or switch the AI helpers',
    description:
      'Changes what is named and keeps the rest. An address is replaced as a whole: give its line, city and country together.',
    example:
      "team update --sender-name 'Example Ltd' --line1 '1 Example Street' --city London --postal-code 'N1 1AA' --country GB",
  })
    .option('--sender-name <name>', 'who says in marketing mail that it is the sender')
    .option('--line1 <text>', 'street and number, or a post office box')
    .option('--line2 <text>', 'building, floor, care of')
    .option('--city <city>', 'the city')
    .option('--state <state>', 'the state, province or county')
    .option('--postal-code <code>', 'the postal code')
    .option('--country <code>', 'the country: two capital letters of ISO 3166-1, such as DE')
    .option('--ai-assist', 'switch the AI helpers on')
    .option('--no-ai-assist', 'switch the AI helpers off')
    .action(act(async (session, _, options) => (await import('./update.ts')).updateTeam(session, options)));
}
