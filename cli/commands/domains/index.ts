import type { Command } from 'commander';
import { addDnsCommands } from '../dns/index.ts';
import { act, addPaging, declareCommand, wholeNumber } from '../declare.ts';

export function addDomainCommands(program: Command): void {
  const domains = program.command('domains').summary('register and verify the domains you send from');
  declareCreate(domains);
  const list = declareCommand(domains, 'list', { summary: 'list domains, newest first', example: 'domains list' });
  addPaging(list).action(act(async (session, _, options) => (await import('./list.ts')).listDomains(session, options)));
  declareCommand(domains, 'get', {
    summary: 'show a domain and its DNS records',
    example: 'domains get mail.example.com',
  })
    .argument('<domain>', 'its id or name')
    .option('--zone', 'print the records as lines of a zone file')
    .action(
      act(async (session, [domain = ''], options) => (await import('./get.ts')).getDomain(session, domain, options)),
    );
  declareUpdate(domains);
  addDnsCommands(domains);
  declareCommand(domains, 'verify', {
    summary: 'check the DNS records now',
    description: 'Looks the DNS records up now and shows what was found; once a minute for each domain.',
    example: 'domains verify mail.example.com',
  })
    .argument('<domain>', 'its id or name')
    .action(act(async (session, [domain = '']) => (await import('./verify.ts')).verifyDomain(session, domain)));
  declareKeys(domains);
  declareCommand(domains, 'delete', {
    summary: 'remove a domain',
    description:
      'Removes a domain. Sent emails are kept; scheduled mail from it fails, and keys pinned to it can no longer send.',
    example: 'domains delete mail.example.com',
  })
    .argument('<domain>', 'its id or name')
    .action(act(async (session, [domain = '']) => (await import('./delete.ts')).deleteDomain(session, domain)));
}

function declareKeys(domains: Command): void {
  declareCommand(domains, 'rotate', {
    summary: 'replace the DKIM keys without a gap',
    description:
      'Adds new DKIM keys beside the old ones, shows the records to publish, waits until they are seen, and ends when the new key signs. The old records can be taken away a week later.',
    example: 'domains rotate mail.example.com',
  })
    .argument('<domain>', 'its id or name')
    .option('--no-wait', 'show the records and leave the rest to the server')
    .option('--wait-minutes <n>', 'how long to wait for the records', wholeNumber, 60)
    .option('--zone', 'print the records as lines of a zone file')
    .action(
      act(async (session, [domain = ''], options) =>
        (await import('./rotate.ts')).rotateDkim(session, domain, options),
      ),
    );
  declareCommand(domains, 'regenerate', {
    summary: 'replace the DKIM keys at once, for a key in wrong hands',
    description:
      'Takes every DKIM key of the domain out of use at once and makes new ones. Nothing is sent from it until the new record is seen; mail that waits is held. To replace keys without a gap: rasket domains rotate.',
    example: 'domains regenerate mail.example.com --key-bits 2048',
  })
    .argument('<domain>', 'its id or name')
    .option('--key-bits <n>', '2048, or 1024 where the DNS host takes no longer record', wholeNumber, 2048)
    .option('--zone', 'print the records as lines of a zone file')
    .action(
      act(async (session, [domain = ''], options) =>
        (await import('./regenerate.ts')).regenerateDkim(session, domain, options),
      ),
    );
}

function declareCreate(domains: Command): void {
  const create = declareCommand(domains, 'create', {
    summary: 'register a domain and print the DNS records to publish',
    example: 'domains create mail.example.com',
  })
    .argument('<name>', 'the domain name; a subdomain keeps the reputation of your main domain apart')
    .option('--region <region>', 'where its mail leaves from')
    .option('--custom-return-path <label>', 'the label of the records to which bounces come back (default: send)');
  addSettings(create)
    .option('--zone', 'print the records as lines of a zone file')
    .action(
      act(async (session, [name = ''], options) => (await import('./create.ts')).createDomain(session, name, options)),
    );
}

function declareUpdate(domains: Command): void {
  const update = declareCommand(domains, 'update', {
    summary: 'change a domain’s settings',
    description:
      'Changes the settings that are named and leaves the others as they are. Receiving is turned on with --receiving enabled.',
    example: 'domains update mail.example.com --tls enforced --no-open-tracking',
  }).argument('<domain>', 'its id or name');
  addSettings(update)
    .option('--confirm-replace-mx', 'let the mail of the name come here although its MX delivers elsewhere today')
    .action(
      act(async (session, [domain = ''], options) =>
        (await import('./update.ts')).updateDomain(session, domain, options),
      ),
    );
}

function addSettings(command: Command): Command {
  return command
    .option('--open-tracking', 'count opens')
    .option('--no-open-tracking', 'do not count opens')
    .option('--click-tracking', 'count clicks')
    .option('--no-click-tracking', 'do not count clicks')
    .option('--tracking-subdomain <label>', 'the label under which tracked links are served')
    .option('--tls <mode>', 'opportunistic, or enforced: no delivery to a server without TLS')
    .option('--sending <state>', 'enabled or disabled')
    .option('--receiving <state>', 'enabled or disabled');
}
