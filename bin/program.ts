import { Command, CommanderError } from 'commander';
import { explain } from './explain.ts';

/** The whole command line: what runs here on the data folder, and what talks to a server over its API. */
export async function runProgram(argv: string[], version: string): Promise<number> {
  const program = new Command('rasket')
    .description('A self-hosted email service: send by REST, deliver straight to the recipients’ mail servers.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'rasket: ')) });

  addOperatorCommands(program, version);
  const { addClientCommands } = await import('../cli/index.ts');
  addClientCommands(program);
  try {
    await program.parseAsync(argv);
    return Number(process.exitCode ?? 0);
  } catch (error) {
    // Commander has said already what was wrong with the words of the call.
    if (error instanceof CommanderError) return error.exitCode;
    for (const line of explain(error)) console.error(`rasket: ${line}`);
    return 1;
  }
}

const DATA = ['--data <dir>', 'the data folder (RASKET_DATA; default ./data)'] as const;
const CONFIG = ['--config <file>', 'the configuration file (RASKET_CONFIG)'] as const;
const JSON_OUTPUT = ['--json', 'print JSON'] as const;

function addOperatorCommands(program: Command, version: string): void {
  program
    .command('dev')
    .summary('run the development profile')
    .description(
      'Runs everything on this machine with a ready team, key and domain. No mail leaves the machine: it is caught for `rasket playground`.',
    )
    .option('--data <dir>', 'the data folder (RASKET_DATA; default .rasket beside the program)')
    .option(...CONFIG)
    .option('--watch', 'start again whenever a source or configuration file changes')
    .action(async (options) => (await import('./commands/dev.ts')).dev({ ...options, version }));

  program
    .command('playground')
    .summary('list or show what the development profile caught')
    .argument('[id]', 'a message, by its id or the email’s, or the beginning of either; `latest` for the newest')
    .option('--data <dir>', 'the data folder (RASKET_DATA; default .rasket beside the program)')
    .option('--raw', 'print the message exactly as it would have been sent')
    .option('--limit <n>', 'how many to list', '20')
    .option(...JSON_OUTPUT)
    .action(async (id, options) => (await import('./commands/playground.ts')).playground(id, options));

  program
    .command('init')
    .summary('make a data folder with a first team and its API key')
    .description(
      'Makes the data folder, the instance key, the database, and a team with a full-access API key, which is printed once. With --team on a folder that exists, adds another team.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .option('--team <name>', 'the name of the team')
    .option(...JSON_OUTPUT)
    .action(async (options) => (await import('./commands/init.ts')).init(options));

  program
    .command('serve')
    .summary('run the server')
    .description(
      'Runs the HTTP API, delivery and the scheduler in one process until SIGTERM. When ready, writes <data>/run/ready.json.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .option('--roles <list>', 'run only these, separated by commas: http, delivery, scheduler')
    .action(async (options) => (await import('./commands/serve.ts')).serve({ ...options, version }));

  program
    .command('migrate')
    .summary('bring the database up to this version')
    .option(...DATA)
    .option(...CONFIG)
    .action(async (options) => (await import('./commands/migrate.ts')).migrateDatabase(options));

  const teams = program.command('teams').summary('list and create teams on this installation');
  teams
    .command('create')
    .argument('<name>', 'the name of the team')
    .summary('create a team with a key of its own')
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .action(async (name, options) => (await import('./commands/teams.ts')).createNamedTeam(name, options));
  teams
    .command('list')
    .summary('list the teams')
    .option(...DATA)
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .action(async (options) => (await import('./commands/teams.ts')).printTeams(options));

  const config = program.command('config').summary('check and show the configuration');
  config
    .command('check')
    .argument('[file]', 'the file to check (RASKET_CONFIG)')
    .summary('say whether a configuration is good')
    .action(async (file) => (await import('./commands/config.ts')).checkConfig(file));
  config
    .command('show')
    .summary('print every setting in force, secrets masked')
    .option(...CONFIG)
    .option('--profile <name>', 'production or development', 'production')
    .action(async (options) => (await import('./commands/config.ts')).printConfig(options));
}
