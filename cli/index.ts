/**
 * The commands that talk to a server over its API. They promise the same for every family: `--json` prints what the
 * API answered, 0 means done, 1 refused or failed, 2 misused. They never touch a data folder or import the server.
 */
import type { Command } from 'commander';
import { addAccessCommands } from './commands/access.ts';
import { addAttachmentCommands } from './commands/attachments/index.ts';
import { addApiKeyCommands } from './commands/api-keys/index.ts';
import { addDomainClaimCommands } from './commands/domain-claims/index.ts';
import { addDomainCommands } from './commands/domains/index.ts';
import { addEmailCommands } from './commands/emails/index.ts';
import { addLogCommands } from './commands/logs/index.ts';
import { addMetricsCommands } from './commands/metrics/index.ts';
import { addOperationCommands } from './commands/operations/index.ts';
import { addShareCommands } from './commands/shares/index.ts';
import { addSuppressionCommands } from './commands/suppressions/index.ts';
import { addTeamCommands } from './commands/teams/index.ts';
import { addUsageCommands } from './commands/usage/index.ts';
import { addTemplateCommands } from './commands/templates/index.ts';
import { addWebhookCommands } from './commands/webhooks/index.ts';

export function addClientCommands(program: Command): void {
  program.commandsGroup('Over the API:');
  addEmailCommands(program);
  addShareCommands(program);
  addAttachmentCommands(program);
  addDomainCommands(program);
  addDomainClaimCommands(program);
  addApiKeyCommands(program);
  addTemplateCommands(program);
  addSuppressionCommands(program);
  addWebhookCommands(program);
  addTeamCommands(program);
  addUsageCommands(program);
  addMetricsCommands(program);
  addLogCommands(program);
  addOperationCommands(program);
  addAccessCommands(program);
}
