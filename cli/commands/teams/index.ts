import type { Command } from 'commander';
import { teams } from '../../families/teams.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

export const addTeamCommands = (program: Command): void => declareFamily(program, teams, declareUpdate);

/** Fields of the address, each with an option of its own. */
const ADDRESS = {
  'postal_address.line1': '--line1',
  'postal_address.line2': '--line2',
  'postal_address.city': '--city',
  'postal_address.state': '--state',
  'postal_address.postal_code': '--postal-code',
  'postal_address.country': '--country',
  postal_address: 'an address (--line1, --city and --country)',
  ai_assist_enabled: '--ai-assist',
};

function declareUpdate(team: Command): void {
  const update = declareCommand(team, 'update', {
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
  nameFields(update, ADDRESS);
}
