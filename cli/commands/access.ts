import { Option, type Command } from 'commander';
import { act, declareCommand, exampleOf } from './declare.ts';
import type { DoctorOptions } from './doctor.ts';
import type { LoginOptions } from './login.ts';
import type { FindMachine } from './machine.ts';

/** The commands for the server and key in use: `login` stores them, `logout` removes them, `doctor` explains them. */
export function addAccessCommands(program: Command, findMachine?: FindMachine): void {
  program
    .command('login')
    .summary('sign in at a server, or keep a key for it, for later commands')
    .description(
      'At a terminal it signs you in with a browser, on this machine or another one: it prints an address and a code, and waits until you have approved it there. With --password it asks for email, password and the code of your second factor here instead; single sign-on takes a browser. With --api-key, and where standard input is no terminal, it keeps a key instead, which is asked for or read from there. The address is kept in $XDG_CONFIG_HOME/rasket/credentials.json, session or key in the keyring of your desktop, or where there is none in the same file, which only you can read.',
    )
    .option(
      '--url <url>',
      'the server (RASKET_URL; default the development server that runs here, or http://127.0.0.1:3000)',
    )
    .option('--profile <name>', 'keep them under a name, beside others (RASKET_PROFILE)')
    .option('--api-key [key]', 'a key; better without its value, because other users of this machine can see it')
    .addOption(new Option('--password', 'sign in with email and password, typed here').conflicts('apiKey'))
    .addHelpText('after', exampleOf('login --url https://mail.example.com'))
    .action(async (options: LoginOptions, command: Command) => {
      const { atTerminal, versionOf } = await import('./session.ts');
      await atTerminal(command, async (terminal, process) =>
        (await import('./login.ts')).login({ terminal, version: versionOf(command), process }, options),
      );
    });
  program
    .command('logout')
    .summary('forget what login kept; a session ends')
    .option('--profile <name>', 'of this profile (RASKET_PROFILE)')
    .addHelpText('after', exampleOf('logout'))
    .action(async (options: { profile?: string }, command: Command) => {
      const { atTerminal, versionOf } = await import('./session.ts');
      await atTerminal(command, async (terminal, process) =>
        (await import('./logout.ts')).logout({ terminal, version: versionOf(command), process }, options),
      );
    });
  declareCommand(program, 'whoami', {
    summary: 'say who you are for the server: which session or key, whose, in which team',
    description:
      'Says which session or key is sent, where it comes from, whose it is, and in which team and role; where there is another one beside it, which of them wins.',
    example: 'whoami',
  }).action(act(async (session) => (await import('./whoami.ts')).tellWho(session)));
  program
    .command('profiles')
    .summary('list the servers whose keys login kept')
    .option('--json', 'print them as JSON')
    .addHelpText('after', exampleOf('profiles'))
    .action(async (options: { json?: boolean }, command: Command) => {
      const { atTerminal } = await import('./session.ts');
      await atTerminal(command, async (terminal, { env }) =>
        (await import('./profiles.ts')).showProfiles(terminal, env, options.json ?? false),
      );
    });
  addUse(program);
  addNames(program);
  const doctor = declareCommand(program, 'doctor', {
    summary: 'say which server and key are in force, whether they work, and what is wrong',
    description:
      'Says which server and key are in force and whether they work, and what is wrong with the server, the gravest first. On the machine of an installation, as root or as the account of its service, it looks at the installation itself and needs no key for that. There, or with the token of an operator, it has the machine examined from outside as well: port 25, reverse DNS, the name in EHLO, lists of blocked addresses, the resolver, the clock, disk, open files, certificates, CAA and backups; the settings of [doctor] say which. What nobody can say is not known, and no finding. It ends with 0 where nothing is wrong or only warnings are told, with 1 where something does not work, or root’s machine was not examined because another server was chosen, and as every command where the server or the key is at fault.',
    example: 'doctor',
  })
    .alias('status')
    .option('--config <file>', 'the settings of the installation on this machine (RASKET_CONFIG)')
    .action(async (options: DoctorOptions, command: Command) =>
      (await import('./doctor.ts')).runDoctor(command, options, findMachine),
    );
  const data = doctor.options.find(({ long }) => long === '--data');
  if (data) data.description = 'the data folder of an installation on this machine, or of a development server';
}

function addUse(program: Command): void {
  program
    .command('use')
    .summary('choose the server that later commands are for')
    .description(
      'Chooses one of the profiles that login kept, for all later commands. --profile, RASKET_PROFILE and the address of another server go before it; --none takes the choice back.',
    )
    .argument('[profile]', 'its name, as profiles lists it')
    .option('--none', 'go back to what login kept without a name')
    .addHelpText('after', exampleOf('use office'))
    .action(async (profile: string | undefined, options: { none?: boolean }, command: Command) => {
      const { atTerminal } = await import('./session.ts');
      await atTerminal(command, async (terminal, process) =>
        (await import('./use.ts')).useProfile(terminal, process, profile, options),
      );
    });
}

function addNames(program: Command): void {
  declareCommand(program, 'names <kind>', {
    summary: 'list the words that name things of a kind, for the completion of shells',
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
