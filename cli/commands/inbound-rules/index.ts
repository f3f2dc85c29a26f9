import type { Command } from 'commander';
import { INBOUND_RULE, inboundRules } from '../../families/inbound-rules.ts';
import { act, declareCommand } from '../declare.ts';
import { addWords, declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

/** Creating and changing take one address or many. */
export const addInboundRuleCommands = (program: Command): void =>
  declareFamily(program, inboundRules, (parent) => {
    declareCreate(parent);
    declareUpdate(parent);
  });

function declareCreate(parent: Command): void {
  const create = declareCommand(parent, 'create', {
    summary: 'create a rule',
    description:
      'Says what is done with mail to an address, a pattern (support+*@example.com, *@example.com) or * for everything. The most specific rule decides. forward keeps the message and passes it on; webhook_only keeps who wrote what to whom and no content; drop keeps nothing.',
    example: 'inbound-rules create support@example.com --action forward --forward-to office@example.org',
  })
    .argument('<pattern>', 'an address, a pattern, or *')
    .requiredOption('--action <action>', 'webhook_only, forward or drop');
  addTargets(create).action(
    act(async (session, [pattern = ''], options) =>
      (await import('./create.ts')).createInboundRule(session, pattern, options),
    ),
  );
  nameFields(create, { pattern: '<pattern>', forward_to: '--forward-to' });
}

function declareUpdate(parent: Command): void {
  const update = declareCommand(parent, 'update', {
    summary: 'change what a rule does',
    example: 'inbound-rules update 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2ea1 --action drop',
  });
  addWords(update, { inbound_rule_id: INBOUND_RULE });
  addTargets(update.option('--action <action>', 'webhook_only, forward or drop')).action(
    act(async (session, [id = ''], options) => (await import('./update.ts')).updateInboundRule(session, id, options)),
  );
  nameFields(update, { forward_to: '--forward-to' });
}

const addTargets = (command: Command): Command =>
  command.option('--forward-to <address...>', 'where forward passes mail on to; up to 10 addresses');
