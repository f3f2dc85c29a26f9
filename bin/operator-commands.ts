import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import type { Role } from '../src/app.ts';

/** Options that several commands on this machine have. */
const DATA = ['--data <dir>', 'the data folder (RASKET_DATA; default that of the installation, or ./data)'] as const;
const CONFIG = ['--config <file>', 'the configuration file (RASKET_CONFIG; default that of the installation)'] as const;
const WIDE = ['--wide', 'show every column, each row on one line'] as const;
const NO_BACKUP = [
  '--no-backup',
  'where the database is of an older version: change it without a backup, however old the last one is',
] as const;
const JSON_OUTPUT = ['--json', 'print JSON'] as const;

const DESCRIPTION =
  'Needs the service stopped. Copies every row, compares each with the original, and only then marks the database of before as moved: it is kept, and no start uses it by accident. Content in files stays where it is. Killed, it is simply called again. At its end it says which settings lead to the new database.';

function addMoves(program: Command): void {
  const declare = (name: string, summary: string, to: [string, string], example: string): Command =>
    program
      .command(name)
      .summary(summary)
      .description(DESCRIPTION)
      .option(...to)
      .option('--dry-run', 'only count what there is to copy, look at both ends and estimate the time')
      .option('--write-config', 'change the settings file as well; its comments stay')
      .option('--undo', 'go back to the database of before, as long as nothing has used the copy')
      .option(...DATA)
      .option(...CONFIG)
      .option(...JSON_OUTPUT)
      .addHelpText('after', `\nExample:\n  rasket ${name} ${example}`);
  declare(
    'migrate-to-postgres',
    'move the installation from SQLite to PostgreSQL',
    ['--to <url>', 'an empty database: postgres://user:password@host/database (or PGPASSWORD)'],
    "--to 'postgres://rasket@/rasket?host=/run/postgresql' --data /var/lib/rasket",
  ).action(async (options) => (await import('./commands/move.ts')).moveTo('pg', options));
  declare(
    'migrate-to-sqlite',
    'move the installation from PostgreSQL to an SQLite file',
    ['--to <file>', 'a new file, relative to the data folder (default database.path of the settings)'],
    '--to rasket.db --data /var/lib/rasket',
  ).action(async (options) => (await import('./commands/move.ts')).moveTo('sqlite', options));
}

const ADMIN = ['--admin <address...>', 'who is mailed when something of the team needs a person, up to 20'] as const;

const LISTED_MAX = 1000;
const ROLES: readonly string[] = ['http', 'delivery', 'scheduler', 'submission', 'receiving'] satisfies Role[];

export function addOperatorCommands(program: Command, version: string): void {
  program.commandsGroup('On this machine:');
  addDevelopment(program, version);
  addSetup(program, [DATA, CONFIG]);
  addServer(program, version);
  addStorage(program);
  addTeams(program.command('teams').summary('list, create, change and suspend teams on this installation'));
  addOperators(program.command('operators').summary('who may see and change the queue of this installation'));
  addUsers(program.command('users').summary('the people who sign in on this installation'));
  addSending(program);
  addRelays(program.command('relays').summary('list and test the relays that mail goes through'));
  addConfig(program.command('config').summary('check and show the configuration'));
}

function addDevelopment(program: Command, version: string): void {
  program
    .command('dev')
    .summary('run the development profile')
    .description(
      'Runs everything on this machine with a ready team, key and domain. No mail leaves the machine: it is caught for `rasket playground`.',
    )
    .option('--data <dir>', 'the data folder (RASKET_DATA; default .rasket beside the program)')
    .option(...CONFIG)
    .option('--any-sender', 'let any domain be a sender, made and verified by its first mail (default)')
    .option('--no-any-sender', 'let only verified domains be senders, as a server with real mail does')
    .option('--listen <address>', 'listen on this address instead of 127.0.0.1; other than loopback needs --any-host')
    .option(
      '--any-host',
      'answer the playground under any host name, as in a container; whoever reaches it reads all mail',
    )
    .option('--watch', 'start again whenever a source or configuration file changes')
    .addHelpText(
      'after',
      '\nRASKET_DEV_API_KEY sets the API key, such as rk_test.\n\nExamples:\n  rasket dev --data try\n  RASKET_DEV_API_KEY=rk_test rasket dev --listen 0.0.0.0 --any-host',
    )
    .action(async (options) => (await import('./commands/dev.ts')).dev({ ...options, version }));

  const playground = program
    .command('playground')
    .summary('list, show, wait for or remove what the development profile caught')
    .argument('[id]', 'a message, by its id or the email’s, or the beginning of either; `latest` for the newest')
    .option('--data <dir>', 'the data folder (RASKET_DATA; default .rasket beside the program)')
    .option('--raw', 'print the message exactly as it would have been sent')
    .option(...CONFIG)
    .option('--limit <n>', `how many to list, 1 to ${LISTED_MAX}`, listed, 20)
    .option('--wide', 'list each on one line, and cut nothing')
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket playground latest')
    .action(async (id, options) => (await import('./commands/playground.ts')).playground(id, options));
  playground
    .command('wait')
    .summary('wait for a message and show it')
    .description(
      'Shows the newest message that fits, and waits for one where there is none. Ends with 66 when the time is over. Asks the development server of the folder, which has to run.',
    )
    .option('--to <address>', 'only a message to this address')
    .option('--subject <text>', 'only a message with this in its subject')
    .option('--email <id>', 'only a message of this email, by the id that sending answered')
    .option('--timeout <time>', 'how long to wait, such as 5s or 500ms, 60s at most', '10s')
    .option('--data <dir>', 'the data folder (RASKET_DATA; default .rasket beside the program)')
    .option('--raw', 'print the message exactly as it would have been sent')
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket playground wait --to ada@example.com --subject Welcome --json')
    // Commander gives the options that both have to the command above.
    .action(async (_options, command) =>
      (await import('./commands/playground.ts')).waitForMessage({ ...command.optsWithGlobals(), version }),
    );
  playground
    .command('clear')
    .summary('remove everything that was caught')
    .description('Removes every caught message with its source. Emails, events and everything else stay as they are.')
    .option('--data <dir>', 'the data folder (RASKET_DATA; default .rasket beside the program)')
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket playground clear')
    .action(async (_options, command) =>
      (await import('./commands/playground.ts')).clearPlayground(command.optsWithGlobals()),
    );

  program
    .command('seed')
    .summary('fill a development server with a believable month')
    .description(
      'Adds four weeks of made-up mail with its events, and contacts, templates, a webhook and received messages, to the development server’s team. A second call adds only the days that are missing. None of the team’s webhooks and listeners is told of it, unless --tell-webhooks is given. Any other folder is refused.',
    )
    .option('--data <dir>', 'the data folder (RASKET_DATA; default .rasket beside the program)')
    .option(...CONFIG)
    .option('--tell-webhooks', 'tell the team’s webhooks and listeners of some 2,500 events, as if they were real')
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket seed')
    .action(async (options) => (await import('./commands/seed.ts')).seed(options));
}

function addServer(program: Command, version: string): void {
  program
    .command('init')
    .summary('make a data folder with a first team and its API key')
    .description(
      'Makes the data folder, the instance key, the database, and a team with a full-access API key, which is printed once. With --team on a folder that exists, adds another team.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .option('--team <name>', 'the name of the team')
    .option('--owner <address>', 'a person who owns it and signs in with this address; the password is shown once')
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket init --data /var/lib/rasket --owner ada@example.com')
    .action(async (options) => (await import('./commands/init.ts')).init(options));

  program
    .command('serve')
    .summary('run the server')
    .description(
      'Runs the HTTP API, delivery and the scheduler in one process until SIGTERM. When ready, writes <data>/run/ready.json.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .option(...NO_BACKUP)
    .option('--roles <list>', `run only these, separated by commas: ${ROLES.join(', ')}`, someRoles)
    .addHelpText('after', '\nExample:\n  rasket serve --data /var/lib/rasket --config /etc/rasket.toml')
    .action(async (options) => (await import('./commands/serve.ts')).serve({ ...options, version }));

  program
    .command('migrate')
    .summary('bring the database up to this version')
    .description(
      'Does what a start does first. Before it changes a database that is in use it asks for room, with PostgreSQL that no node of the version before runs, and makes a backup (with PostgreSQL: asks for one of the last day). Where one of these fails, it ends with 65 and has changed nothing.',
    )
    .option(...NO_BACKUP)
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket migrate --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/migrate.ts')).migrateDatabase(options));
}

function addStorage(program: Command): void {
  program
    .command('vacuum')
    .summary('write the SQLite file anew, as small as it can be')
    .description(
      'Needs the server stopped and as much free room as the file has. A file of this version is cut by itself as mail expires; one that was made before can be cut only after this.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket vacuum --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/vacuum.ts')).vacuum(options));

  addBackups(program);
  addMoves(program);

  program
    .command('rekey')
    .summary('replace the instance key')
    .description(
      'Makes a new instance key and seals with it whatever the one before has sealed, also beside running servers. With PostgreSQL it takes two calls, because every node needs the new key first. Killed, it is simply called again.',
    )
    .option('--forget-former', 'drop the keys of before: links in mail that was sent under them end')
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket rekey --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/rekey.ts')).rekey(options));

  const blobs = program.command('blobs').summary('where content is kept that is too large for a row');
  blobs
    .command('move')
    .summary('take all content to the other store')
    .description(
      'Needs all servers stopped, and [blobs] of the settings to name the S3-compatible store. Copies what is not there yet, compares each content, and marks the store as the one of this installation. Killed, it is simply called again.',
    )
    .requiredOption('--to <store>', 's3 or files')
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket blobs move --to s3 --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/blobs.ts')).moveBlobs(options));

  program
    .command('sweep')
    .summary('count or remove stored content that belongs to no email')
    .description(
      'A server removes by itself, every night, what a crash left behind; where it finds far more than that, it removes nothing and says so. Nothing younger than a day is touched.',
    )
    .option('--yes', 'remove it, however much there is')
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket sweep --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/sweep.ts')).sweep(options));
}

function addTeams(teams: Command): void {
  teams
    .command('create')
    .argument('<name>', 'the name of the team')
    .summary('create a team with a key of its own')
    .option(...ADMIN)
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket teams create Marketing --data /var/lib/rasket')
    .action(async (name, options) => (await import('./commands/teams.ts')).createNamedTeam(name, options));
  teams
    .command('list')
    .summary('list the teams')
    .option(...DATA)
    .option(...CONFIG)
    .option(...WIDE)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket teams list --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/teams.ts')).printTeams(options));
  addTeamChanges(teams);
}

function addUsers(users: Command): void {
  const declare = (usage: string, summary: string, example: string): Command =>
    users
      .command(usage)
      .summary(summary)
      .option(...DATA)
      .option(...CONFIG)
      .option(...JSON_OUTPUT)
      .addHelpText('after', `\nExample:\n  rasket users ${example} --data /var/lib/rasket`);
  declare(
    'create',
    'add a person to a team, with a password that is shown once',
    'create ada@example.com --team my-team',
  )
    .argument('<address>', 'the address that the person signs in with')
    .requiredOption('--team <team>', 'the slug or the id of the team')
    .option(
      '--role <role>',
      'viewer, member, admin or owner (default: owner for the first person of the team, then member)',
    )
    .option('--name <name>', 'what the person is called')
    .action(async (email, options) => (await import('./commands/users.ts')).createNamedUser(email, options));
  declare(
    'invite',
    'make a link by which a person comes into a team, shown once',
    'invite ada@example.com --team my-team --role admin',
  )
    .argument('<address>', 'the address that is invited: nobody else comes in by the link')
    .requiredOption('--team <team>', 'the slug or the id of the team')
    .option('--role <role>', 'viewer, member, admin or owner (default member)')
    .option('--mail', 'mail the link from the team’s verified domain instead of showing it')
    .action(async (email, options) => (await import('./commands/users.ts')).inviteNamedUser(email, options));
  declare(
    'reset',
    'make a link by which a person chooses a new password, shown once',
    "reset ada@example.com --reason 'Called us, lost the mailbox'",
  )
    .argument('<address>', 'the address that the person signs in with')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .action(async (email, options) => (await import('./commands/users.ts')).resetNamedUser(email, options));
  declare('list', 'list people: who may sign in, and who with a second factor', 'list')
    .option(...WIDE)
    .action(async (options) => (await import('./commands/users.ts')).printUsers(options));
  const change = (verb: string, summary: string, reason: string): Command =>
    declare(verb, summary, `${verb} ada@example.com --reason '${reason}'`)
      .argument('<address>', 'the address that the person signs in with')
      .requiredOption('--reason <text>', 'why, on one line; the audit log keeps it');
  change('disable', 'sign a person out everywhere, and let them sign in nowhere', 'left the company').action(
    async (email, options) => (await import('./commands/users.ts')).disableNamedUser(email, options),
  );
  change('enable', 'let a disabled person sign in again', 'came back').action(async (email, options) =>
    (await import('./commands/users.ts')).enableNamedUser(email, options),
  );
  change(
    'disable-mfa',
    'switch the second factor of a person off, who has lost it, and sign them out everywhere',
    'lost the phone, seen in person',
  ).action(async (email, options) => (await import('./commands/users.ts')).disableMfaOfUser(email, options));
}

function addOperators(operators: Command): void {
  const declare = (usage: string, summary: string, example: string): Command =>
    operators
      .command(usage)
      .summary(summary)
      .option(...DATA)
      .option(...CONFIG)
      .option(...JSON_OUTPUT)
      .addHelpText('after', `\nExample:\n  rasket operators ${example} --data /var/lib/rasket`);
  declare('create', 'make a token for rasket queue and rasket audit all, shown once', 'create Ada')
    .argument('<name>', 'whose it is; the audit log names it')
    .action(async (name, options) => (await import('./commands/operators.ts')).createNamedOperator(name, options));
  declare('list', 'list operators, revoked ones too', 'list')
    .option(...WIDE)
    .action(async (options) => (await import('./commands/operators.ts')).printOperators(options));
  declare('revoke', 'end the token of an operator', 'revoke Ada')
    .argument('<operator>', 'the name or the id')
    .action(async (operator, options) =>
      (await import('./commands/operators.ts')).revokeNamedOperator(operator, options),
    );
}

function addTeamChanges(teams: Command): void {
  const declare = (verb: string, summary: string, example: string): Command =>
    teams
      .command(verb)
      .argument('<team>', 'its slug or its id')
      .summary(summary)
      .option(...DATA)
      .option(...CONFIG)
      .option(...JSON_OUTPUT)
      .addHelpText('after', `\nExample:\n  rasket teams ${example} --data /var/lib/rasket`);
  declare('update', 'rename a team, or change its plan or its admins', 'update marketing --admin ops@example.com')
    .option('--plan <code>', 'the plan: the name of a section [plans.<name>] of the configuration')
    .option('--name <name>', 'the name; the slug stays')
    .option(...ADMIN)
    .option('--no-admin', 'mail nobody')
    .action(async (team, options) => (await import('./commands/teams.ts')).updateNamedTeam(team, options));
  declare('suspend', 'refuse all keys of a team; its mail rests until it is resumed', 'suspend marketing').action(
    async (team, options) => (await import('./commands/teams.ts')).suspendTeam(team, options),
  );
  declare(
    'resume',
    'accept the keys of a suspended team again, and send the mail that rested',
    'resume marketing',
  ).action(async (team, options) => (await import('./commands/teams.ts')).resumeTeam(team, options));
  declare(
    'sso-off',
    'let the people of a team sign in with passwords again, when its single sign-on locks everybody out',
    "sso-off marketing --reason 'The provider is gone'",
  )
    .option('--domain <name>', 'take this domain away instead: its addresses sign in through the team no more')
    .requiredOption('--reason <text>', 'why, on one line; the audit log of the team keeps it')
    .action(async (team, options) => (await import('./commands/teams.ts')).stopSso(team, options));
}

function addSending(program: Command): void {
  program
    .command('sending')
    .summary('switch all sending of this installation off and on')
    .description(
      'Shows whether this installation sends, or switches it. While it is off, sends are refused with 503 and nothing leaves the queue; everything else works. With --marketing it is about mail to many alone: broadcasts are refused with 403, all other mail goes on. A restored copy begins switched off, because it would send what the original sends; switching it on confirms that the original sends no more. A running server sees it at once.',
    )
    .addArgument(new Argument('[state]', 'what it is to be; left out, it is only shown').choices(['on', 'off']))
    .option('--marketing', 'only mail to many')
    .option('--broadcasts', 'with on: resume the broadcasts that are held since this copy was restored')
    .option('--reason <text>', 'why it is off, on one line; callers are told')
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText(
      'after',
      "\nExample:\n  rasket sending off --reason 'Moving to another network' --data /var/lib/rasket",
    )
    .action(async (state, options) => (await import('./commands/sending.ts')).sending(state, options));
}

function addRelays(relays: Command): void {
  relays
    .command('list')
    .summary('list the relays of the settings, and what mail goes through each')
    .option(...DATA)
    .option(...CONFIG)
    .option(...WIDE)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket relays list')
    .action(async (options) => (await import('./commands/relays.ts')).printRelays(options));
  relays
    .command('test')
    .argument('<name>', 'the name of a section [relays.<name>] of the settings')
    .summary('connect to a relay, log in, and print the dialogue')
    .description(
      'Connects to the relay and logs in as a delivery would, over TLS with a valid certificate, and sends no mail. The dialogue is printed with *** in place of user name and secrets. Needs no running server.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket relays test ses')
    .action(async (name, options) => (await import('./commands/test-relay.ts')).testRelay(name, options));
}

function addConfig(config: Command): void {
  config
    .command('check')
    .argument('[file]', 'the file to check (RASKET_CONFIG; default that of the installation)')
    .summary('say whether a configuration is good')
    .addHelpText('after', '\nExample:\n  rasket config check /etc/rasket.toml')
    .action(async (file) => (await import('./commands/config.ts')).checkConfig(file));
  config
    .command('show')
    .summary('print every setting in force, secrets masked')
    .option(...CONFIG)
    .addOption(
      new Option('--profile <name>', 'which profile').choices(['production', 'development']).default('production'),
    )
    .addHelpText('after', '\nExample:\n  rasket config show --config /etc/rasket.toml')
    .action(async (options) => (await import('./commands/config.ts')).printConfig(options));
}

/** Adds the commands that describe all others to shells and `man`; called last. */
export function addDescriptions(program: Command, version: string): void {
  program.commandsGroup('About this program:');
  program
    .command('completion')
    .summary('print the script that completes commands in your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', '\nExample:\n  rasket completion bash > /etc/bash_completion.d/rasket')
    .action(async (shell) => {
      process.stdout.write((await import('./commands/completion.ts')).completionFor(shell, program));
    });
  program
    .command('man')
    .summary('print the manual page, or lay all pages down in a folder, as install.sh does')
    .option('--to <folder>', 'lay down rasket.1 and a page for every command, such as rasket-emails.1')
    .addHelpText('after', '\nExample:\n  rasket man --to /usr/local/share/man/man1')
    .action(async ({ to }: { to?: string }) => {
      const { layManual, manPage } = await import('./commands/man.ts');
      if (to === undefined) process.stdout.write(manPage(program, version));
      else layManual(program, version, to);
    });
}

function listed(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= LISTED_MAX) return count;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${LISTED_MAX}.`);
}

function someRoles(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !ROLES.includes(name));
  if (unknown === undefined) return [...new Set(names)];
  throw new InvalidArgumentError(`${JSON.stringify(unknown)} is no role; the roles are ${ROLES.join(', ')}.`);
}

/** `places` are the options that every command on the data folder has. */
function addSetup(program: Command, places: readonly (readonly [flags: string, says: string])[]): void {
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

function addBackups(program: Command): void {
  const backup = program
    .command('backup')
    .argument('<folder>', 'a new or an empty folder')
    .summary('copy database, keys and content into a folder')
    .description(
      'Makes a data folder as it stands at one moment, while the server runs, and reads it again. To restore, make it the data folder again. With PostgreSQL a dump stands in the place of the database (pg_dump, see backup.pg_programs), and rasket restore writes it back.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket backup /var/backups/rasket-monday --data /var/lib/rasket')
    .action(async (folder, options) => (await import('./commands/backup.ts')).backup(folder, options));
  backup
    .command('verify')
    .argument('<folder>', 'what rasket backup or the service has made')
    .summary('read a backup again and say whether it is whole')
    .description(
      'Holds every file against its checksum, has SQLite check the database or pg_restore read the dump, counts the rows, and opens every secret with the key of the backup. Says what is damaged, and ends with 1 then.',
    )
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket backup verify /var/backups/rasket-monday')
    .action(async (folder, options) => (await import('./commands/backup.ts')).verify(folder, options));

  program
    .command('restore')
    .argument('<folder>', 'what rasket backup or the service has made')
    .summary('make a data folder of a backup again')
    .description(
      'Reads the backup, then fills an empty data folder with it; with PostgreSQL also the empty database of the settings (pg_restore). The server that is started on it sends nothing until rasket sending on.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket restore /var/backups/rasket-monday --data /var/lib/rasket')
    .action(async (folder, options) => (await import('./commands/backup.ts')).restore(folder, options));

  const backups = program
    .command('backups')
    .summary('list the backups that there are, and note those of other programs');
  backups
    .command('list')
    .argument('[folder]', 'the folder that they are in (default backup.directory of the settings)')
    .summary('list the backups that there are')
    .option(...DATA)
    .option(...CONFIG)
    .option(...WIDE)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket backups list --data /var/lib/rasket')
    .action(async (folder, options) => (await import('./commands/backups.ts')).printBackups(folder, options));
  backups
    .command('note')
    .summary('say that another program has made a backup')
    .description(
      'For what is backed up by pg_dump or a snapshot of the disk: findings and upgrades go by the age of the last backup.',
    )
    .option('--at <time>', 'when it was made (default now)')
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket backups note --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/backups.ts')).noteMade(options));
}
