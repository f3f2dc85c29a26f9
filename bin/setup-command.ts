import type { Command } from 'commander';

/** `places` are the options that every command on the data folder has. */
export function addSetup(program: Command, places: readonly (readonly [flags: string, says: string])[]): void {
  const setup = program
    .command('setup')
    .summary('set this machine up to send: settings, first team, domain, certificate')
    .description(
      'Asks at a terminal, or takes flags: finds host name, addresses and taken ports, shows where each comes from, writes the settings file and keeps what an operator wrote, makes the first team and its key (shown once), prints the records of the first domain, starts the service, waits for the certificate, runs rasket doctor, and ends with the first email. It can be run again at any time, and changes only what is missing.',
    )
    .option('--host <name>', 'the public host name of this machine')
    .option('--public-address <ip...>', 'the addresses by which others reach it')
    .option(
      '--https <how>',
      'own (ports 443 and 80), proxy (a web server in front), none, or another port such as 8443',
    )
    .option('--api-port <port>', 'the port of the API on this machine, where the usual one is taken')
    .option('--receive', 'take mail and bounces at port 25, once it is free')
    .option('--no-receive', 'send only, and leave port 25 alone')
    .option('--relay <host:port>', 'let this mail server pass all mail on, such as where port 25 is blocked')
    .option('--no-relay', 'use no relay, although port 25 is blocked')
    .option('--relay-user <name>', 'the user name at the relay')
    .option('--relay-password-file <file>', 'a file that has the password at the relay on its first line')
    .option('--relay-ca-file <file>', 'the certificate of the authority of a private relay, in PEM')
    .option('--relay-spf <name>', 'what SPF records include for the relay, such as amazonses.com (or none)')
    .option('--acme-directory <url>', 'the authority that issues the certificate')
    .option('--acme-contact <address>', 'the address that the authority may write to')
    .option('--agree-to-terms', 'you agree to the terms of that authority')
    .option('--no-acme', 'ask no authority')
    .option('--team <name>', 'the name of the first team')
    .option('--email <address>', 'your address: you own the team, and the first email goes to it')
    .option('--no-email', 'make no person')
    .option('--domain <name>', 'the first domain to send from')
    .option('--no-domain', 'add no domain')
    .option(
      '--publish-with <provider>',
      'set the records of the domain through this DNS provider of the settings, or cloudflare with CLOUDFLARE_API_TOKEN',
    )
    .option('--new-key', 'make another key of the team, for whoever has lost the first one')
    .option('--start', 'start the service, or restart it where its settings changed')
    .option('--no-start', 'leave the service alone')
    .option('--yes', 'take everything that was found, and ask nothing')
    .option('--dry-run', 'say what would be done, and change nothing')
    .option('--print', 'print the settings file as it would be written, and change nothing')
    .addHelpText(
      'after',
      '\nExample:\n  rasket setup --host mail.example.com --domain example.com --email ada@example.com',
    )
    .action(async (options) => (await import('./commands/setup.ts')).setup(options));
  for (const [flags, says] of places) setup.option(flags, says);
}
