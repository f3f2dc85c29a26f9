import type { Command } from 'commander';
import { DOMAIN, domains, regenerate } from '../../families/domains.ts';
import { act, declareCommand, wholeNumber } from '../declare.ts';
import { addWords, addYes, declareFamily, declareGet } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';
import { addDnsCommands } from '../dns/index.ts';

const ONE = { domain_id: DOMAIN };

export function addDomainCommands(program: Command): void {
  const { get, ...others } = domains;
  declareFamily(program, others, (parent) => {
    declareCreate(parent);
    declareGet(parent, domains, get, async (session, words, options) =>
      (await import('./get.ts')).getDomain(session, words, options),
    ).option('--zone', 'print the records as lines of a zone file');
    declareUpdate(parent);
    declareVerify(parent);
    declareKeys(parent);
  });
  addDnsCommands(program);
}

function declareVerify(parent: Command): void {
  const verify = declareCommand(parent, 'verify', {
    summary: 'check the DNS records now',
    description: 'Looks the DNS records up now and shows what was found; once a minute for each domain.',
    example: 'domains verify mail.example.com',
  });
  addWords(verify, ONE).action(
    act(async (session, [domain = '']) => (await import('./verify.ts')).verifyDomain(session, domain)),
  );
}

function declareKeys(parent: Command): void {
  const rotate = declareCommand(parent, 'rotate', {
    summary: 'replace the DKIM keys without a gap',
    description:
      'Adds new DKIM keys beside the old ones, shows the records to publish, waits until they are seen, and ends when the new key signs. The old records can be taken away a week later.',
    example: 'domains rotate mail.example.com',
  });
  addWords(rotate, ONE)
    .option('--no-wait', 'show the records and leave the rest to the server')
    .option('--wait-minutes <n>', 'how long to wait for the records', wholeNumber, 60)
    .option('--zone', 'print the records as lines of a zone file')
    .action(
      act(async (session, [domain = ''], options) =>
        (await import('./rotate.ts')).rotateDkim(session, domain, options),
      ),
    );
  const command = declareCommand(parent, regenerate.verb, regenerate);
  addWords(addYes(command), regenerate.path)
    .option('--key-bits <n>', '2048, or 1024 where the DNS host takes no longer record', wholeNumber, 2048)
    .option('--zone', 'print the records as lines of a zone file')
    .action(
      act(async (session, words, options) => (await import('./regenerate.ts')).regenerateDkim(session, words, options)),
    );
}

function declareCreate(parent: Command): void {
  const create = declareCommand(parent, 'create', {
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

function declareUpdate(parent: Command): void {
  const update = declareCommand(parent, 'update', {
    summary: 'change a domain’s settings',
    description:
      'Changes the settings that are named and leaves the others as they are. Receiving is turned on with --receiving enabled.',
    example: 'domains update mail.example.com --tls enforced --no-open-tracking',
  });
  addSettings(addWords(update, ONE))
    .option('--confirm-replace-mx', 'let the mail of the name come here although its MX delivers elsewhere today')
    .action(
      act(async (session, [domain = ''], options) =>
        (await import('./update.ts')).updateDomain(session, domain, options),
      ),
    );
}

function addSettings(command: Command): Command {
  nameFields(command, { 'capabilities.sending': '--sending', 'capabilities.receiving': '--receiving' });
  return command
    .option('--open-tracking', 'count opens')
    .option('--no-open-tracking', 'do not count opens')
    .option('--click-tracking', 'count clicks')
    .option('--no-click-tracking', 'do not count clicks')
    .option('--tracking-subdomain <label>', 'the label under which tracked links are served')
    .option('--tls <mode>', 'opportunistic, or enforced: no delivery to a server without TLS, whatever its certificate')
    .option('--tls-verify', 'with enforced: only to servers whose certificate is valid for their name')
    .option('--no-tls-verify', 'with enforced: any certificate will do')
    .option('--sending <state>', 'enabled or disabled')
    .option('--receiving <state>', 'enabled or disabled');
}
