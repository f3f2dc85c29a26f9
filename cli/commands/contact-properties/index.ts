import type { Command } from 'commander';
import { contactProperties } from '../../families/index.ts';
import { act, declareCommand } from '../declare.ts';
import { addWords, declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

export const addContactPropertyCommands = (program: Command): void =>
  declareFamily(program, contactProperties, declareUpdate);

function declareUpdate(parent: Command): void {
  const update = declareCommand(parent, 'update', {
    summary: 'change the fallback of a property',
    example: 'contact-properties update 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e20 --fallback basic',
  });
  addWords(update, contactProperties.get.path)
    .option('--fallback <value>', 'what is printed for a contact without a value')
    .option('--clear-fallback', 'print nothing')
    .action(
      act(async (session, [id = ''], options) => (await import('./update.ts')).updateProperty(session, id, options)),
    );
  nameFields(update, { fallback_value: '--fallback' });
}
