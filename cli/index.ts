/**
 * The commands that talk to a server over its API. They promise the same for every family: `--json` prints the response
 * of the API, and the exit code of a command tells the class of what went wrong (`EXIT_CODES` of
 * `output/command-process.ts`). They never touch a data folder or import the server.
 */
import type { Command } from 'commander';
import { addAccessCommands } from './commands/access.ts';
import { addAttachmentCommands } from './commands/attachments/index.ts';
import { addAutomationCommands } from './commands/automations/index.ts';
import { addBroadcastCommands } from './commands/broadcasts/index.ts';
import { addCustomEventCommands } from './commands/custom-events/index.ts';
import { addContactCommands } from './commands/contacts/index.ts';
import { addContactImportCommands } from './commands/contact-imports/index.ts';
import { addConsoleCommand } from './commands/console.ts';
import { declareFamily, declareTail } from './commands/declare-family.ts';
import { keepMachineFinder, type FindMachine } from './commands/machine.ts';
import { toPlural } from './commands/synonyms.ts';
import { registerRemaining } from './commands/typed-command.ts';
import { addDomainClaimCommands } from './commands/domain-claims/index.ts';
import { addDomainCommands } from './commands/domains/index.ts';
import { addEmailCommands } from './commands/emails/index.ts';
import { addBillingCommands } from './commands/billing/index.ts';
import { addInboxCommands } from './commands/inbox-threads/index.ts';
import { addImageCommands } from './commands/images/index.ts';
import { addAccountCommands } from './commands/mfa/index.ts';
import { addMetricsCommands } from './commands/metrics/index.ts';
import { addQueueCommands } from './commands/queue/index.ts';
import { addReceivedEmailCommands } from './commands/received-emails/index.ts';
import { addReputationCommands } from './commands/reputation/index.ts';
import { addSegmentCommands } from './commands/segments/index.ts';
import { addSsoCommands } from './commands/sso/index.ts';
import { addSystemCommands } from './commands/system/index.ts';
import { addSuppressionCommands } from './commands/suppressions/index.ts';
import { addTeamCommands } from './commands/teams/index.ts';
import { addWebhookCommands } from './commands/webhooks/index.ts';
import {
  ai,
  apiKeys,
  audit,
  certificates,
  contactProperties,
  breakers,
  egress,
  findings,
  forms,
  inboundRules,
  invitations,
  logs,
  members,
  approvals,
  oauthClients,
  oauthGrants,
  operatorAudit,
  operatorFindings,
  providers,
  sessions,
  shares,
  templates,
  topics,
  usage,
  type Family,
} from './families/index.ts';

export { adviceFor } from './commands/typed-command.ts';
export { otherWords } from './commands/typed-words.ts';
export { namedWords, flagValues } from './commands/completion-words.ts';
export { EXIT, EXIT_CODES } from './output/command-process.ts';

const declare =
  (...families: readonly Family[]) =>
  (program: Command): void => {
    for (const family of families) declareFamily(program, family);
  };

/** In the order of the help; each part with the first words of the command lines that need it. */
const PARTS: readonly (readonly [words: string, add: (program: Command, findMachine?: FindMachine) => void])[] = [
  ['send emails explain', addEmailCommands],
  ['shares', declare(shares)],
  ['attachments', addAttachmentCommands],
  ['received', addReceivedEmailCommands],
  ['inbound-rules', declare(inboundRules)],
  ['inbox', addInboxCommands],
  ['domains', addDomainCommands],
  ['domains', addDomainClaimCommands],
  ['keys api-keys', declare(apiKeys)],
  ['templates', declare(templates)],
  ['contacts', addContactCommands],
  ['contacts', addContactImportCommands],
  ['contact-properties properties', declare(contactProperties)],
  ['segments', addSegmentCommands],
  ['topics', declare(topics)],
  ['forms', declare(forms)],
  ['broadcasts', addBroadcastCommands],
  ['images', addImageCommands],
  ['events', addCustomEventCommands],
  ['automations', addAutomationCommands],
  ['suppressions', addSuppressionCommands],
  ['webhooks', addWebhookCommands],
  ['team', addTeamCommands],
  ['members', declare(members)],
  ['invitations', declare(invitations)],
  ['sso', addSsoCommands],
  ['account', addAccountCommands],
  ['sessions', declare(sessions)],
  ['approvals', declare(approvals)],
  ['oauth-grants apps', declare(oauthGrants)],
  ['oauth-clients', declare(oauthClients)],
  ['ai', declare(ai)],
  ['usage', declare(usage)],
  ['billing', addBillingCommands],
  ['metrics', addMetricsCommands],
  ['logs', (program) => declareFamily(program, logs, { add: (parent) => void declareTail(parent, logs.list) })],
  ['audit', declare(audit, operatorAudit)],
  ['queue', addQueueCommands],
  ['providers', declare(providers)],
  ['breakers', declare(breakers)],
  ['egress', declare(egress)],
  ['reputation', addReputationCommands],
  ['tls', declare(certificates)],
  ['findings', declare(findings, operatorFindings)],
  ['health ready', addSystemCommands],
  ['console', addConsoleCommand],
  ['login logout profiles use whoami names doctor status', addAccessCommands],
];

/**
 * Adds all commands for readers of the help, completion and mistyped commands; `first`, the first word of the command
 * line, may show that a part of them is enough: declaring all costs more than most calls. Code that advises a command
 * declares the others.
 */
export function addClientCommands(program: Command, first?: string, findMachine?: FindMachine): void {
  program.commandsGroup('Over the API:');
  if (findMachine) keepMachineFinder(program, findMachine);
  const isNamed = ([words]: (typeof PARTS)[number]): boolean =>
    first !== undefined && words.split(' ').some((word) => word === first || word === toPlural(first));
  const named = PARTS.some(isNamed) ? PARTS.filter(isNamed) : PARTS;
  for (const [, add] of named) add(program, findMachine);
  registerRemaining(program, () => {
    for (const part of PARTS) if (!named.includes(part)) part[1](program, findMachine);
  });
}
