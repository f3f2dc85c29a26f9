/**
 * The commands that talk to a server over its API. They promise the same for every family: `--json` prints what the
 * API answered, 0 means done, 1 refused or failed, 2 misused. They never touch a data folder or import the server.
 */
import type { Command } from 'commander';
import { addAccessCommands } from './commands/access.ts';
import { addApiKeyCommands } from './commands/api-keys/index.ts';
import { addDomainCommands } from './commands/domains/index.ts';
import { addEmailCommands } from './commands/emails/index.ts';
import { addOperationCommands } from './commands/operations/index.ts';
import { addSuppressionCommands } from './commands/suppressions/index.ts';

export function addClientCommands(program: Command): void {
  program.commandsGroup('Over the API:');
  addEmailCommands(program);
  addDomainCommands(program);
  addApiKeyCommands(program);
  addSuppressionCommands(program);
  addOperationCommands(program);
  addAccessCommands(program);
}
