import type { Command } from 'commander';
import { CliFault } from '../output/index.ts';
import { act, declareCommand } from './declare.ts';

/** Loads the console only when the command is called, so that no other command pays for it. */
export function addConsoleCommand(program: Command): void {
  declareCommand(program, 'console', {
    summary: 'a full screen to watch and steer everything from',
    description:
      'Opens a full screen over the same API: what is sent, received and told, live, with everything that can be done about it. ? shows the keys, q leaves.',
    example: 'console',
  }).action(
    act(
      async ({ client, target, terminal, version, process, isJson }) => {
        if (isJson)
          throw new CliFault('the console is for people.', 'usage', {
            words: 'For JSON take the other commands, such as',
            command: ['listEmails', '--json'],
          });
        const { stdin, stdout, env } = process;
        if (!stdin.isTTY || !stdout.isTTY || env.TERM === 'dumb') {
          throw new CliFault('the console needs a terminal.', 'usage', {
            words: 'Here take the other commands, such as',
            command: ['listEmails'],
          });
        }
        // React brings a slow build of itself for development.
        env.NODE_ENV ??= 'production';
        const { loadTsx } = await import('./load-tsx.ts');
        await loadTsx();
        const { openConsole } = await import('../../console/main.tsx');
        await openConsole({ client, target, terminal, version, stdin, stdout, env });
      },
      { key: true, screen: true },
    ),
  );
}
