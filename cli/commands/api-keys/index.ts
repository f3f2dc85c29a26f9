import type { Command } from 'commander';
import { act, addPaging, declareCommand } from '../declare.ts';

export function addApiKeyCommands(program: Command): void {
  const keys = program.command('keys').alias('api-keys').summary('issue and revoke the keys that reach the API');
  declareCommand(keys, 'create', {
    summary: 'create a key, which is printed once',
    example: "keys create 'Billing service' --permission sending_access",
  })
    .argument('<name>', 'what people call it')
    .option('--permission <permission>', 'full_access or sending_access (default: full_access)')
    .option('--domain <domain>', 'pins a sending_access key to this domain, by id or name')
    .action(
      act(async (session, [name = ''], options) => (await import('./create.ts')).createApiKey(session, name, options)),
    );
  const list = declareCommand(keys, 'list', { summary: 'list keys, newest first', example: 'keys list --status all' });
  addPaging(list)
    .option('--status <status>', 'active, revoked or all (default: active)')
    .option('--search <text>', 'only those whose name contains this')
    .option('--permission <permission>', 'only those with this permission')
    .action(act(async (session, _, options) => (await import('./list.ts')).listApiKeys(session, options)));
  declareCommand(keys, 'update', {
    summary: 'rename a key',
    example: "keys update 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02 --name 'Billing (old)'",
  })
    .argument('<id>', 'the id of the key, not the key itself')
    .requiredOption('--name <name>', 'its new name')
    .action(
      act(async (session, [id = ''], options) => (await import('./update.ts')).updateApiKey(session, id, options)),
    );
  declareCommand(keys, 'revoke', {
    summary: 'revoke a key, at once and for good',
    example: 'keys revoke 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02',
  })
    .argument('<id>', 'the id of the key, not the key itself')
    .action(act(async (session, [id = '']) => (await import('./revoke.ts')).revokeApiKey(session, id)));
}
