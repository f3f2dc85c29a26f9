import type { Command } from 'commander';
import { declareCommand, exampleOf } from './declare.ts';
import type { DoctorOptions } from './doctor.ts';
import type { FindMachine } from './machine.ts';

/** Which server, with which key: said once by `login`, forgotten by `logout`, explained by `doctor`. */
export function addAccessCommands(program: Command, findMachine?: FindMachine): void {
  program
    .command('login')
    .summary('keep the address of a server and a key for later commands')
    .description(
      'Asks the server whether it takes the key, and keeps the address in $XDG_CONFIG_HOME/rasket/credentials.json and the key in the keyring of your desktop, or where there is none in the same file, which only you can read. The key is asked for, or read from standard input.',
    )
    .option('--url <url>', 'the server (RASKET_URL; default http://127.0.0.1:3000)')
    .option('--profile <name>', 'keep them under a name, beside others (RASKET_PROFILE)')
    .option('--api-key <key>', 'the key; better left out, because other users of this machine can see it')
    .addHelpText('after', exampleOf('login --url https://mail.example.com < key.txt'))
    .action(async (options: { url?: string; apiKey?: string; profile?: string }, command: Command) => {
      const { atTerminal, versionOf } = await import('./session.ts');
      await atTerminal(command, async (terminal, process) =>
        (await import('./login.ts')).login({ terminal, version: versionOf(command), process }, options),
      );
    });
  program
    .command('logout')
    .summary('forget what login kept')
    .option('--profile <name>', 'of this profile (RASKET_PROFILE)')
    .addHelpText('after', exampleOf('logout'))
    .action(async (options: { profile?: string }, command: Command) => {
      const { atTerminal } = await import('./session.ts');
      await atTerminal(command, async (terminal, { env }) =>
        (await import('./logout.ts')).logout(terminal, env, options),
      );
    });
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
  const doctor = declareCommand(program, 'doctor', {
    summary: 'say which server and key are in force, whether they work, and what is wrong',
    description:
      'Says which server and key are in force and whether they work, and what is wrong with the server, the gravest first. On the machine of an installation, as root or as the account of its service, it looks at the installation itself and needs no key for that. It ends with 1 where something does not work.',
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
