/**
 * The commands that talk to a server over its API. They promise the same for every family: `--json` prints what the
 * API answered, and the number a command ends with
 * tells the class of what went wrong (`output/exit-codes.ts`). They never touch a data folder or import the server.
 */
import type { Command } from 'commander';
import { addAccessCommands } from './commands/access.ts';
import { addApiKeyCommands } from './commands/api-keys/index.ts';
import { addAttachmentCommands } from './commands/attachments/index.ts';
import { addContactCommands } from './commands/contacts/index.ts';
import { addContactImportCommands } from './commands/contact-imports/index.ts';
import { addContactPropertyCommands } from './commands/contact-properties/index.ts';
import { addConsoleCommand } from './commands/console.ts';
import { declareFamily, declareTail } from './commands/declare-family.ts';
import { addDomainClaimCommands } from './commands/domain-claims/index.ts';
import { addDomainCommands } from './commands/domains/index.ts';
import { addEmailCommands } from './commands/emails/index.ts';
import { addInboundRuleCommands } from './commands/inbound-rules/index.ts';
import { addMetricsCommands } from './commands/metrics/index.ts';
import { addQueueCommands } from './commands/queue/index.ts';
import { addReceivedEmailCommands } from './commands/received-emails/index.ts';
import { addSegmentCommands } from './commands/segments/index.ts';
import { addSystemCommands } from './commands/system/index.ts';
import { addSuppressionCommands } from './commands/suppressions/index.ts';
import { addTeamCommands } from './commands/teams/index.ts';
import { addTemplateCommands } from './commands/templates/index.ts';
import { addWebhookCommands } from './commands/webhooks/index.ts';
import { audit, logs, operatorAudit, shares, topics, usage } from './families/index.ts';

export { adviceFor } from './commands/advise.ts';
export { flagValues } from './commands/flag-values.ts';
export { EXIT, EXIT_CODES } from './output/exit-codes.ts';

export function addClientCommands(program: Command): void {
  program.commandsGroup('Over the API:');
  addEmailCommands(program);
  declareFamily(program, shares);
  addAttachmentCommands(program);
  addReceivedEmailCommands(program);
  addInboundRuleCommands(program);
  addDomainCommands(program);
  addDomainClaimCommands(program);
  addApiKeyCommands(program);
  addTemplateCommands(program);
  addContactCommands(program);
  addContactImportCommands(program);
  addContactPropertyCommands(program);
  addSegmentCommands(program);
  declareFamily(program, topics);
  addSuppressionCommands(program);
  addWebhookCommands(program);
  addTeamCommands(program);
  declareFamily(program, usage);
  addMetricsCommands(program);
  declareFamily(program, logs, (parent) => void declareTail(parent, logs.list));
  declareFamily(program, audit);
  declareFamily(program, operatorAudit);
  addQueueCommands(program);
  addSystemCommands(program);
  addConsoleCommand(program);
  addAccessCommands(program);
}
