import type { Command } from 'commander';
import { apiKeys } from '../../families/api-keys.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

export const addApiKeyCommands = (program: Command): void => declareFamily(program, apiKeys, declareCreate);

function declareCreate(keys: Command): void {
  const create = declareCommand(keys, 'create', {
    summary: 'create a key, which is printed once',
    example: "keys create 'Billing service' --permission sending_access",
  })
    .argument('<name>', 'what people call it')
    .option('--permission <permission>', 'full_access or sending_access (default: full_access)')
    .option('--domain <domain>', 'pins a sending_access key to this domain, by id or name')
    .action(
      act(async (session, [name = ''], options) => (await import('./create.ts')).createApiKey(session, name, options)),
    );
  nameFields(create, { domain_id: '--domain' });
}
