import { Option, type Command } from 'commander';
import { act, declareCommand, formatExample } from './declare.ts';
import type { DoctorOptions } from './doctor.ts';
import type { LoginOptions } from './login.ts';
import type { FindMachine } from './machine.ts';

/** The commands for the server and key in use: `login` stores them, `logout` removes them, `doctor` explains them. */
export function addAccessCommands(program: Command, findMachine?: FindMachine): void {
  program
    .command('login')
    .summary('sign in to a server, or store a key for it, for later commands')
    .description(
      'Sign in to a server, or store a key for it. At a terminal, the command prints an address and a code, and waits until you have approved the sign-in in a browser, on this machine or another one. With --password, it asks for your email address, your password and the code of your second factor at the terminal instead; single sign-on needs a browser. With --api-key, or if standard input is not a terminal, it stores a key instead, which it asks for or reads from standard input. The address is stored in $XDG_CONFIG_HOME/rasket/credentials.json. The session or the key is stored in the keyring of your desktop or, if there is none, in the same file, which only you can read.',
    )
    .option(
      '--url <url>',
      'the server (RASKET_URL; default: the development server that runs here, or http://127.0.0.1:3000)',
    )
    .option('--profile <name>', 'store them under this name (RASKET_PROFILE)')
    .option(
      '--api-key [key]',
      'store a key; leave out the value to be asked for it, because other users of this machine can see the command line',
    )
    .addOption(new Option('--password', 'sign in with email address and password at the terminal').conflicts('apiKey'))
    .addHelpText('after', formatExample('login --url https://mail.example.com'))
    .action(async (options: LoginOptions, command: Command) => {
      const { atTerminal, readVersion } = await import('./session.ts');
      await atTerminal(command, async (terminal, process) =>
        (await import('./login.ts')).login({ terminal, version: readVersion(command), process }, options),
      );
    });
  program
    .command('logout')
    .summary('end the session, or remove the stored key')
    .option('--profile <name>', 'the profile to log out of (RASKET_PROFILE)')
    .addHelpText('after', formatExample('logout'))
    .action(async (options: { profile?: string }, command: Command) => {
      const { atTerminal, readVersion } = await import('./session.ts');
      await atTerminal(command, async (terminal, process) =>
        (await import('./logout.ts')).logout({ terminal, version: readVersion(command), process }, options),
      );
    });
  declareCommand(program, 'whoami', {
    summary: 'show which session or key is used, whose it is, and its team',
    description:
      'Show which session or key is used, where it comes from, whose it is, and its team and role. If another one is set as well, the output says which of them takes precedence.',
    example: 'whoami',
  }).action(act(async (session) => (await import('./whoami.ts')).printCaller(session)));
  program
    .command('profiles')
    .summary('list the servers that login stored keys for')
    .option('--json', 'print them as JSON')
    .addHelpText('after', formatExample('profiles'))
    .action(async (options: { json?: boolean }, command: Command) => {
      const { atTerminal } = await import('./session.ts');
      await atTerminal(command, async (terminal, { env }) =>
        (await import('./profiles.ts')).showProfiles(terminal, env, options.json ?? false),
      );
    });
  addUse(program);
  addNames(program);
  const doctor = declareCommand(program, 'doctor', {
    summary: 'check the server and the key in use, and show what is wrong',
    description:
      'Show which server and key are in use, whether they work, and what is wrong with the server, most severe first. On the machine of an installation, root and the account of the service need no key. There, or with the token of an operator, doctor also checks the machine: port 25, reverse DNS, the EHLO name, blocklists, the resolver, the clock, disk space, open files, the mode of the instance key, certificates, CAA and backups. The settings in [doctor] select these checks.\n\nExit codes:\n  0  nothing is wrong, or there are only warnings\n  1  something does not work, or the machine was not examined because another server was chosen\n  69 no server answers\n  70 the server cannot serve requests, such as while its disk is full\n  77 the key is not accepted, or none is set for a server elsewhere',
    example: 'doctor',
  })
    .alias('status')
    .option('--config <file>', 'the settings file of the installation on this machine (RASKET_CONFIG)')
    .action(async (options: DoctorOptions, command: Command) =>
      (await import('./doctor.ts')).runDoctor(command, options, findMachine),
    );
  const data = doctor.options.find(({ long }) => long === '--data');
  if (data) data.description = 'the data folder of an installation on this machine, or of a development server';
}

function addUse(program: Command): void {
  program
    .command('use')
    .summary('choose the server for later commands')
    .description(
      'Choose one of the profiles that login stored, for all later commands. --profile, RASKET_PROFILE and the address of another server take precedence. --none removes the choice.',
    )
    .argument('[profile]', 'the name of the profile, as profiles lists it')
    .option('--none', 'go back to the login without a profile')
    .addHelpText('after', formatExample('use office'))
    .action(async (profile: string | undefined, options: { none?: boolean }, command: Command) => {
      const { atTerminal } = await import('./session.ts');
      await atTerminal(command, async (terminal, process) =>
        (await import('./use.ts')).useProfile(terminal, process, profile, options),
      );
    });
}

function addNames(program: Command): void {
  declareCommand(program, 'names <kind>', {
    summary: 'list names and ids of one kind, for shell completion',
    example: 'names domain_id',
  }).action(
    act(
      async (session, [kind = '']) => {
        const { printNames, printProfiles } = await import('./names.ts');
        return kind === 'profiles' ? printProfiles(session) : printNames(session, kind);
      },
      { key: false },
    ),
  );
}
