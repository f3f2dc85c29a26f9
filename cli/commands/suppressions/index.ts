import type { Command } from 'commander';
import { suppressions } from '../../families/suppressions.ts';
import { act, declareCommand } from '../declare.ts';
import { addYes, declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

/** Adding and removing take one address or many, which are two operations each. */
export const addSuppressionCommands = (program: Command): void =>
  declareFamily(program, suppressions, (parent) => {
    declareAdd(parent);
    declareRemove(parent);
  });

function declareAdd(parent: Command): void {
  const add = declareCommand(parent, 'add', {
    summary: 'suppress one or more addresses',
    description: 'Stops all mail of this team to the addresses, at most 100 at once.',
    example: 'suppressions add someone@example.org other@example.org',
  })
    .argument('<address...>', 'the addresses')
    .action(act(async (session, words) => (await import('./add.ts')).addSuppressions(session, words)));
  nameFields(add, { email: '<address>', emails: '<address>' });
}

function declareRemove(parent: Command): void {
  const remove = declareCommand(parent, 'remove', {
    summary: 'lift one or more suppressions',
    description:
      'Lets mail go to the addresses again. One that is not suppressed is refused when it stands alone and skipped among several, at most 100. Several are removed after a question, or with --yes.',
    example: 'suppressions remove someone@example.org',
  })
    .argument('<suppression...>', 'ids (sup_…) or addresses, not both')
    .action(
      act(async (session, words, options) => (await import('./remove.ts')).removeSuppressions(session, words, options)),
    );
  nameFields(addYes(remove), { emails: '<suppression>', ids: '<suppression>' });
}
