import type { Command } from 'commander';
import { openTerminal } from '../output/index.ts';
import { act, declareCommand, report, versionOf } from './declare.ts';

/** Which server, with which key: said once by `login`, forgotten by `logout`, explained by `doctor`. */
export function addAccessCommands(program: Command): void {
  program
    .command('login')
    .summary('keep the address of a server and a key for later commands')
    .description(
      'Asks the server whether it takes the key, and keeps both in $XDG_CONFIG_HOME/rasket/credentials.json, which only you can read. The key is asked for, or read from standard input.',
    )
    .option('--url <url>', 'the server (RASKET_URL; default http://127.0.0.1:3000)')
    .option('--api-key <key>', 'the key; better left out, because other users of this machine can see it')
    .addHelpText('after', '\nExample:\n  rasket login --url https://mail.example.com < key.txt')
    .action(async (options: { url?: string; apiKey?: string }, command: Command) => {
      const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
      await report(terminal, false, async () =>
        (await import('./login.ts')).login({ terminal, version: versionOf(command), env: process.env }, options),
      );
    });
  program
    .command('logout')
    .summary('forget what login kept')
    .addHelpText('after', '\nExample:\n  rasket logout')
    .action(async () => {
      const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
      await report(terminal, false, async () => (await import('./logout.ts')).logout(terminal, process.env));
    });
  declareCommand(program, 'doctor', {
    summary: 'say which server and key are in force, and whether they work',
    example: 'doctor',
  }).action(act(async (session) => (await import('./doctor.ts')).examine(session), { key: false }));
}
