import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import type { Role } from '../src/app.ts';

/** Options that several commands on this machine have. */
const DATA = ['--data <dir>', 'the data folder (RASKET_DATA; default: that of the installation, or ./data)'] as const;
const CONFIG = [
  '--config <file>',
  'the configuration file (RASKET_CONFIG; default: that of the installation)',
] as const;
const WIDE = ['--wide', 'show every column, each row on one line'] as const;
const NO_BACKUP = ['--no-backup', 'upgrade an older database without a backup, even if the last one is old'] as const;
const JSON_OUTPUT = ['--json', 'print JSON'] as const;

const DESCRIPTION =
  'Stop the service first. The command copies every row, compares each with the original, and only then marks the old database as moved: it is kept, and the server refuses to start on it. Content in files is not moved. If the command is interrupted, run it again. At the end it shows the settings for the new database.';

function addMoves(program: Command): void {
  const declare = (name: string, summary: string, to: [string, string], example: string): Command =>
    program
      .command(name)
      .summary(summary)
      .description(DESCRIPTION)
      .option(...to)
      .option('--dry-run', 'count the rows, check both databases, estimate the time, and change nothing')
      .option('--write-config', 'change the settings file as well, and keep its comments')
      .option('--undo', 'go back to the old database, as long as nothing has used the copy')
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

const ADMIN = ['--admin <address...>', 'addresses to notify when the team needs a human to act (up to 20)'] as const;

const LISTED_MAX = 1000;
const ROLES: readonly string[] = ['http', 'delivery', 'scheduler', 'submission', 'receiving'] satisfies Role[];

export function addOperatorCommands(program: Command, version: string): void {
  program.commandsGroup('On this machine:');
  addDevelopment(program, version);
  addSimulate(program, version);
  addSetup(program, [DATA, CONFIG]);
  addServer(program, version);
  addUpgrade(program, version);
  addStorage(program);
  addTeams(
    program.command('teams').summary('list, create, change, suspend, export and delete teams on this installation'),
    version,
  );
  addOperators(
    program.command('operators').summary('manage the operators, who may see and change the queue of this installation'),
  );
  addUsers(program.command('users').summary('manage the people who sign in on this installation'));
  addSending(program);
  addRelays(program.command('relays').summary('list and test the relays that mail is sent through'));
  addHost(program.command('host').summary('show and change the host name of this installation'));
  addConfig(program.command('config').summary('check and show the configuration'));
}

function addDevelopment(program: Command, version: string): void {
  program
    .command('dev')
    .summary('run the development server')
    .description(
      'Run a complete server on this machine, with a team, a key and a domain. No mail leaves the machine: all mail is captured for `rasket playground`.',
    )
    .option('--data <dir>', 'the data folder (RASKET_DATA; default: .rasket next to the program)')
    .option(...CONFIG)
    .option('--any-sender', 'accept any sender domain; it is created and verified by its first email (default)')
    .option('--no-any-sender', 'accept verified sender domains only, as a production server does')
    .option(
      '--listen <address>',
      'listen on this address instead of 127.0.0.1; other addresses than loopback need --any-host',
    )
    .option(
      '--any-host',
      'serve the playground under any host name, for a container; anyone who can reach it can read all mail',
    )
    .option('--watch', 'restart when a source or configuration file changes')
    .addHelpText(
      'after',
      '\nRASKET_DEV_API_KEY sets the API key, such as rk_test.\n\nExamples:\n  rasket dev --data try\n  RASKET_DEV_API_KEY=rk_test rasket dev --listen 0.0.0.0 --any-host',
    )
    .action(async (options) => (await import('./commands/dev.ts')).dev({ ...options, version }));

  const playground = program
    .command('playground')
    .summary('list, show, wait for or remove captured mail of the development server')
    .argument('[id]', 'a message, by its id or the email’s, or the beginning of either; `latest` for the newest')
    .option('--data <dir>', 'the data folder (RASKET_DATA; default: .rasket next to the program)')
    .option('--raw', 'print the source of the message, as it would have been sent')
    .option(...CONFIG)
    .option('--limit <n>', `how many to list, 1 to ${LISTED_MAX}`, listed, 20)
    .option('--wide', 'show each message on one line, with full values')
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket playground latest')
    .action(async (id, options) => (await import('./commands/playground.ts')).playground(id, options));
  playground
    .command('wait')
    .summary('wait for a message and show it')
    .description(
      'Show the newest message that matches, or wait for one. The exit code after the timeout is 66. The development server of the data folder must be running.',
    )
    .option('--to <address>', 'only a message to this address')
    .option('--subject <text>', 'only a message with this in its subject')
    .option('--email <id>', 'only a message of this email, by the id that sending answered')
    .option('--timeout <time>', 'wait at most this long, such as 5s or 500ms; 60s at most', '10s')
    .option('--data <dir>', 'the data folder (RASKET_DATA; default: .rasket next to the program)')
    .option('--raw', 'print the source of the message, as it would have been sent')
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket playground wait --to ada@example.com --subject Welcome --json')
    // Commander gives the options that both have to the command above.
    .action(async (_options, command) =>
      (await import('./commands/playground.ts')).waitForMessage({ ...command.optsWithGlobals(), version }),
    );
  playground
    .command('clear')
    .summary('remove all captured mail')
    .description('Remove every captured message and its source. Emails, events and everything else are kept.')
    .option('--data <dir>', 'the data folder (RASKET_DATA; default: .rasket next to the program)')
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket playground clear')
    .action(async (_options, command) =>
      (await import('./commands/playground.ts')).clearPlayground(command.optsWithGlobals()),
    );

  program
    .command('seed')
    .summary('fill a development server with four weeks of sample data')
    .description(
      'Adds four weeks of sample mail with its events, and contacts, templates, a webhook and received messages, to the team of the development server. A second run adds only the missing days. Does not notify the webhooks and listeners of the team, unless --tell-webhooks is given. Works on a development server only.',
    )
    .option('--data <dir>', 'the data folder (RASKET_DATA; default: .rasket next to the program)')
    .option(...CONFIG)
    .option('--tell-webhooks', 'send some 2,500 events to the webhooks and listeners of the team, as if they were real')
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket seed')
    .action(async (options) => (await import('./commands/seed.ts')).seed(options));
}

function addSimulate(program: Command, version: string): void {
  program
    .command('simulate')
    .summary('rehearse a campaign against mail servers that behave like Gmail, Outlook and others')
    .description(
      'Start mail servers on this machine that limit, defer, refuse and report like real mailbox providers, and a throw-away server that sends a broadcast and transactional mail to them. No mail leaves the machine, and nothing of an installation is used. Shows what each provider saw, how long it took, and what still waits. Without a profile, list the profiles.',
    )
    .argument('[profile]', 'a profile from the list, or a TOML file of your own, such as ./mine.toml')
    .option('--messages <n>', 'how many readers the broadcast has', whole(1, 1_000_000), 2000)
    .option('--speed <n>', 'how many times faster than the clock, 1 to 100', whole(1, 100), 10)
    .option('--minutes <n>', 'end after so many simulated minutes, even if mail still waits', whole(1, 10_000), 60)
    .option('--config <file>', 'try the settings of [delivery] of this configuration file')
    .option('--listen', 'only start the mail servers, and print the settings with which your own server uses them')
    .option('--port <n>', 'the port of the mail servers (default: any free one)', whole(1, 65_535))
    .option(...JSON_OUTPUT)
    .addHelpText(
      'after',
      '\nExamples:\n  rasket simulate\n  rasket simulate realistic --messages 5000\n  rasket simulate greylisting --speed 30 --json',
    )
    .action(async (profile, options) =>
      (await import('./commands/simulate.ts')).simulate(profile, { ...options, version }),
    );
}

function addServer(program: Command, version: string): void {
  program
    .command('init')
    .summary('create a data folder with a first team and its API key')
    .description(
      'Create the data folder, the instance key, the database, and a team with a full-access API key, which is shown only once. With --team on an existing folder, add another team.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .option('--team <name>', 'the name of the team')
    .option(
      '--owner <address>',
      'the owner of the team, who signs in with this address; the password is shown only once',
    )
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket init --data /var/lib/rasket --owner ada@example.com')
    .action(async (options) => (await import('./commands/init.ts')).init(options));

  program
    .command('serve')
    .summary('run the server')
    .description(
      'Run the HTTP API, delivery and the scheduler until SIGTERM, in one process or, with PostgreSQL, in several that share the ports. When ready, the server writes <data>/run/ready.json.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .option(...NO_BACKUP)
    .option('--roles <list>', `run only these, separated by commas: ${ROLES.join(', ')}`, someRoles)
    .option(
      '--processes <n>',
      'how many processes share the work, or auto for one for each core (needs PostgreSQL)',
      someProcesses,
    )
    .addHelpText('after', '\nExample:\n  rasket serve --data /var/lib/rasket --config /etc/rasket.toml')
    .action(async (options) => (await import('./commands/serve.ts')).serve({ ...options, version }));

  program
    .command('restart')
    .summary('restart the processes of the server one after the other')
    .description(
      'Restart a server of several processes (`rasket serve --processes`) without closing its ports, for example after a change of its settings. Each process finishes its work, and another one takes its place first. If a new process cannot start, the others continue.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  sudo rasket restart')
    .action(async (options) => (await import('./commands/restart.ts')).restart(options));

  program
    .command('migrate')
    .summary('upgrade the database to this version')
    .description(
      'Upgrade the database to this version, as `rasket serve` does when it starts. Before it changes a database, it checks the free disk space, checks with PostgreSQL that no node of the previous version is running, and makes a backup; if it cannot make one, it requires a backup from the last day. If one of these checks fails, it exits with 65 and changes nothing.',
    )
    .option(...NO_BACKUP)
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket migrate --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/migrate.ts')).migrateDatabase(options));
}

function addUpgrade(program: Command, version: string): void {
  program
    .command('upgrade')
    .summary('check whether a newer release is available, or download it')
    .description(
      'Compare this program with the manifest of a release, and show what is new. The manifest must be signed with the key of the releases. With an address, --check verifies the signature of the manifest and the list of changes; the executable and install.sh are verified once --download has fetched them. With a file, --check verifies those in its folder as well. If this program is of that release, its own executable is verified. Nothing is installed. The network is used only if the manifest has an http or https address.',
    )
    .option('--check', 'verify the manifest and its signature, compare, and show what is new')
    .option('--download <folder>', 'download the executable for this machine and install.sh as well, and verify them')
    .option('--from <place>', 'the manifest.json of the release, as an address or a file (default: upgrade.url)')
    .option(
      '--key <file>',
      'the public key of the releases (default: upgrade.public_key, or the key in the executable of a release)',
    )
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket upgrade --check --from ./manifest.json')
    .action(async (options) => (await import('./commands/upgrade.ts')).upgrade({ ...options, version }));
}

function addStorage(program: Command): void {
  program
    .command('vacuum')
    .summary('rewrite the SQLite file to reduce its size')
    .description(
      'Rewrite the SQLite file without its unused pages. Stop the server first. The command needs as much free disk space as the size of the file. A file that this version created shrinks automatically as mail expires; an older file shrinks only after this command.',
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
      'Create a new instance key and encrypt with it everything that the old key encrypted. The servers may be running. With PostgreSQL, run it twice, because every node needs the new key first. If the command is interrupted, run it again.',
    )
    .option('--forget-former', 'remove the old keys; tracked links in mail that was sent under them stop working')
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket rekey --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/rekey.ts')).rekey(options));

  const blobs = program.command('blobs').summary('manage the store for large content');
  blobs
    .command('move')
    .summary('move all content to the other store')
    .description(
      'Stop all servers first, and configure the S3-compatible store in [blobs]. The command copies missing content, compares everything, and marks the new store as the one of this installation. If the command is interrupted, run it again.',
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
      'Count the stored content that belongs to no email, or remove it with --yes. The server removes leftovers of a crash every night. If it finds many more than a crash leaves, it removes nothing and logs that. Content younger than a day is never removed.',
    )
    .option('--yes', 'remove it, regardless of the amount')
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket sweep --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/sweep.ts')).sweep(options));
}

function addTeams(teams: Command, version: string): void {
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
  teams
    .command('plans')
    .summary('list the plans in the settings, which update --plan takes')
    .option(...DATA)
    .option(...CONFIG)
    .option(...WIDE)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket teams plans')
    .action(async (options) => (await import('./commands/teams.ts')).printPlans(options));
  addTeamChanges(teams);
  addTeamEnds(teams, version);
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
    .option('--name <name>', 'the name of the person')
    .action(async (email, options) => (await import('./commands/users.ts')).createNamedUser(email, options));
  declare(
    'invite',
    'create a link with which a person joins a team, shown only once',
    'invite ada@example.com --team my-team --role admin',
  )
    .argument('<address>', 'the address to invite; the link works for this address only')
    .requiredOption('--team <team>', 'the slug or the id of the team')
    .option('--role <role>', 'viewer, member, admin or owner (default member)')
    .option('--mail', 'send the link by email from the team’s verified domain instead of showing it')
    .action(async (email, options) => (await import('./commands/users.ts')).inviteNamedUser(email, options));
  declare(
    'reset',
    'create a link with which a person sets a new password, shown only once',
    "reset ada@example.com --reason 'Called us, lost the mailbox'",
  )
    .argument('<address>', 'the address that the person signs in with')
    .requiredOption('--reason <text>', 'the reason for the audit log')
    .action(async (email, options) => (await import('./commands/users.ts')).resetNamedUser(email, options));
  declare('list', 'list people, whether they may sign in, and their second factor', 'list')
    .option(...WIDE)
    .action(async (options) => (await import('./commands/users.ts')).printUsers(options));
  const change = (verb: string, summary: string, reason: string): Command =>
    declare(verb, summary, `${verb} ada@example.com --reason '${reason}'`)
      .argument('<address>', 'the address that the person signs in with')
      .requiredOption('--reason <text>', 'the reason for the audit log, on one line');
  change('disable', 'disable a person: end all sessions and refuse sign-ins', 'left the company').action(
    async (email, options) => (await import('./commands/users.ts')).disableNamedUser(email, options),
  );
  change('enable', 'allow a disabled person to sign in again', 'came back').action(async (email, options) =>
    (await import('./commands/users.ts')).enableNamedUser(email, options),
  );
  change(
    'disable-mfa',
    'turn off the second factor of a person who has lost it, and end all their sessions',
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
  declare('create', 'create an operator and their token, which is shown only once', 'create Ada')
    .argument('<name>', 'the name of the operator, as shown in the audit log')
    .action(async (name, options) => (await import('./commands/operators.ts')).createNamedOperator(name, options));
  declare('list', 'list operators, including revoked ones', 'list')
    .option(...WIDE)
    .action(async (options) => (await import('./commands/operators.ts')).printOperators(options));
  declare('revoke', 'revoke the token of an operator', 'revoke Ada')
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
    .option('--name <name>', 'the new name; the slug does not change')
    .option(...ADMIN)
    .option('--no-admin', 'remove all admin addresses')
    .action(async (team, options) => (await import('./commands/teams.ts')).updateNamedTeam(team, options));
  declare('get', 'show a team, its state and the reason for it', 'get marketing').action(async (team, options) =>
    (await import('./commands/teams.ts')).printOneTeam(team, options),
  );
  declare(
    'suspend',
    'refuse all keys of a team, and pause its mail until it is resumed',
    "suspend marketing --reason 'Complaints about its newsletter'",
  )
    .option('--reason <text>', 'the reason, on one line, for the audit log and rasket teams list')
    .action(async (team, options) => (await import('./commands/teams.ts')).suspendTeam(team, options));
  declare('resume', 'accept the keys of a suspended team again, and send its paused mail', 'resume marketing').action(
    async (team, options) => (await import('./commands/teams.ts')).resumeTeam(team, options),
  );
  declare(
    'sso-off',
    'allow the people of a team to sign in with passwords again, if its single sign-on locks everybody out',
    "sso-off marketing --reason 'The provider is gone'",
  )
    .option('--domain <name>', 'remove only this domain: its addresses no longer sign in through the team')
    .requiredOption('--reason <text>', 'the reason for the audit log of the team, on one line')
    .action(async (team, options) => (await import('./commands/teams.ts')).stopSso(team, options));
}

/** Declares what is done when a customer leaves. */
function addTeamEnds(teams: Command, version: string): void {
  const declare = (verb: string, summary: string, says: string, example: string): Command =>
    teams
      .command(verb)
      .argument('<team>', 'its slug or its id')
      .summary(summary)
      .description(says)
      .option(...DATA)
      .option(...CONFIG)
      .option(...JSON_OUTPUT)
      .addHelpText('after', `\nExample:\n  rasket teams ${example} --data /var/lib/rasket`);
  declare(
    'export',
    'write everything of a team to a folder',
    'Write everything of a team to a new folder: each table as a file of JSON lines, and attachments, sources and images as files, with a manifest of counts and checksums. Secrets are left out: keys, passwords, private DKIM keys. The server may run meanwhile.',
    'export marketing --to /srv/marketing',
  )
    .requiredOption('--to <folder>', 'a new or an empty folder')
    .action(async (team, options) =>
      (await import('./commands/teams.ts')).exportNamedTeam(team, { ...options, version }),
    );
  declare(
    'delete',
    'suspend a team, and delete everything of it after a grace period',
    'Suspend a team at once, and delete it with its mail, contacts and files after team.deletion_grace_days. Accounts of people who are in no other team are deleted as well. Its invoices and one entry of the audit log are kept.',
    "delete marketing --reason 'The contract ended'",
  )
    .requiredOption('--reason <text>', 'the reason, on one line, for the audit log')
    .option('--now', 'delete at once, without a grace period')
    .option('--yes', 'do not ask for confirmation')
    .action(async (team, options) => (await import('./commands/teams.ts')).deleteTeam(team, options));
  declare(
    'keep',
    'take the deletion of a team back, within its grace period',
    'Take the deletion of a team back. It is in the state in which it was before. Once its data is being removed, it cannot be kept.',
    'keep marketing',
  ).action(async (team, options) => (await import('./commands/teams.ts')).keepNamedTeam(team, options));
}

function addSending(program: Command): void {
  program
    .command('sending')
    .summary('turn all sending of this installation off or on')
    .description(
      'Show whether this installation sends mail, or turns sending off or on. While it is off, send requests are refused with 503 and nothing leaves the queue; everything else works. With --marketing, this affects marketing mail only: broadcasts are refused with 403, and all other mail is sent. A restored copy starts with sending off, because it would send the same mail as the original; turning it on confirms that the original no longer sends. A running server applies the change at once.',
    )
    .addArgument(new Argument('[state]', 'the new state; without it, the state is shown').choices(['on', 'off']))
    .option('--marketing', 'marketing mail only')
    .option('--broadcasts', 'with on: resume the broadcasts that are on hold since this copy was restored')
    .option('--reason <text>', 'the reason, on one line; API clients see it')
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
    .summary('list the relays in the settings, and the mail that each one sends')
    .option(...DATA)
    .option(...CONFIG)
    .option(...WIDE)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket relays list')
    .action(async (options) => (await import('./commands/relays.ts')).printRelays(options));
  relays
    .command('test')
    .argument('<name>', 'the name of a section [relays.<name>] in the settings')
    .summary('connect to a relay, log in, and print the dialogue')
    .description(
      'Connect to the relay, log in like a delivery, over TLS with a valid certificate, and print the dialogue, with *** instead of user name and secrets. No mail is sent. The server need not be running.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket relays test ses')
    .action(async (name, options) => (await import('./commands/test-relay.ts')).testRelay(name, options));
}

function addHost(host: Command): void {
  host
    .command('show', { isDefault: true })
    .summary('show the host name, and which records still contain the former one (default)')
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket host')
    .action(async (options) => (await import('./commands/host.ts')).showHost(options));
  host
    .command('change')
    .argument('<name>', 'the new host name')
    .summary('change the host name in the settings')
    .description(
      'Show which records have to be published for the new host name and which are in DNS already, then change the settings and keep your comments. The former name counts for instance.host_grace_days as well: in records of domains, MTA-STS policies and certificates. Restart the service afterwards, and run the same command on each other node. Going back to the former name is a change too.',
    )
    .option('--dry-run', 'show what has to be published, and change nothing')
    .option('--yes', 'change the name although DNS does not have its addresses')
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket host change mx.example.com --dry-run')
    .action(async (name, options) => (await import('./commands/change-host.ts')).changeHost(name, options));
  host
    .command('finish')
    .summary('end the time in which the former host name counts as well')
    .option('--yes', 'finish although records of domains contain the former name')
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket host finish')
    .action(async (options) => (await import('./commands/host.ts')).finishHost(options));
}

function addConfig(config: Command): void {
  config
    .command('check')
    .argument('[file]', 'the file to check (RASKET_CONFIG; default: that of the installation)')
    .summary('check a configuration file')
    .addHelpText('after', '\nExample:\n  rasket config check /etc/rasket.toml')
    .action(async (file) => (await import('./commands/config.ts')).checkConfig(file));
  config
    .command('show')
    .argument('[setting]', 'only this section or setting, such as http or http.port')
    .summary('print the settings in use, with secrets masked')
    .option(...CONFIG)
    .addOption(
      new Option('--profile <name>', 'the profile').choices(['production', 'development']).default('production'),
    )
    .addHelpText('after', '\nExamples:\n  rasket config show --config /etc/rasket.toml\n  rasket config show http.port')
    .action(async (setting, options) => (await import('./commands/config.ts')).printConfig(setting, options));
}

/** Adds the commands that describe all others to shells and `man`; called last. */
export function addDescriptions(program: Command, version: string): void {
  program.commandsGroup('About this program:');
  program
    .command('completion')
    .summary('print the completion script for your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', '\nExample:\n  rasket completion bash > /etc/bash_completion.d/rasket')
    .action(async (shell) => {
      process.stdout.write((await import('./commands/completion.ts')).completionFor(shell, program));
    });
  program
    .command('man')
    .summary('print the manual page, or write all pages to a folder, as install.sh does')
    .option('--to <folder>', 'write rasket.1 and a page for every command, such as rasket-emails.1')
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

const whole =
  (min: number, max: number) =>
  (text: string): number => {
    const count = Number(text);
    if (Number.isInteger(count) && count >= min && count <= max) return count;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };

/** Reads a number of processes; `auto` is 0, as in the settings. */
function someProcesses(text: string): number {
  return text === 'auto' ? 0 : whole(1, 256)(text);
}

function someRoles(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !ROLES.includes(name));
  if (unknown === undefined) return [...new Set(names)];
  throw new InvalidArgumentError(`${JSON.stringify(unknown)} is not a role; the roles are ${ROLES.join(', ')}.`);
}

/** `places` are the options that every command on the data folder has. */
function addSetup(program: Command, places: readonly (readonly [flags: string, says: string])[]): void {
  const setup = program
    .command('setup')
    .summary('set up this machine to send mail: settings, first team, domain, certificate')
    .description(
      'Set up this machine by questions at a terminal, or by flags. The command finds the host name, addresses and ports in use, and shows where each value comes from. It writes the settings file and keeps the existing settings, creates the first team and its key (shown only once), prints the DNS records of the first domain, starts the service, waits for the certificate, runs rasket doctor, and prints the command for the first email. You can run it again at any time; it changes only what is missing.',
    )
    .option('--host <name>', 'the public host name of this machine')
    .option('--public-address <ip...>', 'the addresses at which others reach this machine')
    .option(
      '--https <how>',
      'own (ports 443 and 80), proxy (a web server in front), none, or another port such as 8443',
    )
    .option('--api-port <port>', 'the port of the API on this machine, if the default one is taken')
    .option('--receive', 'receive mail and bounces at port 25, once it is free')
    .option('--no-receive', 'only send mail, and do not use port 25')
    .option('--relay <host:port>', 'send all mail through this mail server, for example if port 25 is blocked')
    .option('--no-relay', 'use no relay, even if port 25 is blocked')
    .option('--relay-user <name>', 'the user name for the relay')
    .option('--relay-password-file <file>', 'a file whose first line is the password for the relay')
    .option('--relay-ca-file <file>', 'the CA certificate of a private relay, in PEM')
    .option('--relay-spf <name>', 'the domain to include in SPF records for the relay, such as amazonses.com (or none)')
    .option('--acme-directory <url>', 'the authority that issues the certificate')
    .option('--acme-contact <address>', 'the contact address for the authority')
    .option('--agree-to-terms', 'agree to the terms of the authority')
    .option('--no-acme', 'request no certificate')
    .option('--team <name>', 'the name of the first team')
    .option('--email <address>', 'your address: you own the team, and the first email is sent to it')
    .option('--no-email', 'create no person')
    .option('--domain <name>', 'the first domain to send from')
    .option('--no-domain', 'add no domain')
    .option(
      '--publish-with <provider>',
      'publish the records of the domain through this DNS provider from the settings, or cloudflare with CLOUDFLARE_API_TOKEN',
    )
    .option('--new-key', 'create another key for the team, in case the first one is lost')
    .option('--start', 'start the service, or restart it if its settings changed')
    .option('--no-start', 'do not start the service')
    .option('--yes', 'accept all values that were found, and ask nothing')
    .option('--dry-run', 'show what would be done, and change nothing')
    .option('--print', 'print the new settings file, and change nothing')
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
    .summary('back up the database, keys and content to a folder')
    .description(
      'Write a consistent copy of the data folder while the server runs, and verify it. To restore it, use rasket restore, or use the copy as the data folder. With PostgreSQL, the backup contains a pg_dump file, which rasket restore loads; backup.pg_programs names the folder of pg_dump.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket backup /var/backups/rasket-monday --data /var/lib/rasket')
    .action(async (folder, options) => (await import('./commands/backup.ts')).backup(folder, options));
  backup
    .command('verify')
    .argument('<folder>', 'a backup made by rasket backup or by the service')
    .summary('verify a backup')
    .description(
      'Compare every file with its checksum, check the database with SQLite or read the dump with pg_restore, count the rows, and decrypt every secret with the key of the backup. If something is damaged, the exit code is 1.',
    )
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket backup verify /var/backups/rasket-monday')
    .action(async (folder, options) => (await import('./commands/backup.ts')).verify(folder, options));

  program
    .command('restore')
    .argument('<folder>', 'a backup made by rasket backup or by the service')
    .summary('restore a backup to a data folder')
    .description(
      'Verify the backup, then write it to an empty data folder and, with PostgreSQL, to the empty database in the settings (pg_restore). The restored server sends nothing until you run rasket sending on.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket restore /var/backups/rasket-monday --data /var/lib/rasket')
    .action(async (folder, options) => (await import('./commands/backup.ts')).restore(folder, options));

  const backups = program.command('backups').summary('list backups, and record backups made by other programs');
  backups
    .command('list')
    .argument('[folder]', 'the folder with the backups (default: backup.directory in the settings)')
    .summary('list the backups')
    .option(...DATA)
    .option(...CONFIG)
    .option(...WIDE)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket backups list --data /var/lib/rasket')
    .action(async (folder, options) => (await import('./commands/backups.ts')).printBackups(folder, options));
  backups
    .command('note')
    .summary('record that another program has made a backup')
    .description(
      'Record a backup that another program has made, such as pg_dump or a disk snapshot. Findings and upgrades check the age of the last backup.',
    )
    .option('--at <time>', 'the time of the backup (default: now)')
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket backups note --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/backups.ts')).noteMade(options));
}
