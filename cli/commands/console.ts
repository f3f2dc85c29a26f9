import type { Command } from 'commander';
import { CliFault } from '../output/index.ts';
import { act, declareCommand } from './declare.ts';

/** Loads the console only when the command is called, so that no other command pays for it. */
export function addConsoleCommand(program: Command): void {
  declareCommand(program, 'console', {
    summary: 'open the full-screen console',
    description:
      'Open a full-screen view over the same API: sent and received mail, webhooks and more, live, with all actions. ? shows the keys, q quits.',
    example: 'console',
  }).action(
    act(
      async ({ client, target, terminal, version, process, isJson }) => {
        if (isJson)
          throw new CliFault('the console has no JSON output.', 'usage', {
            words: 'For JSON, use another command, such as',
            command: ['listEmails', '--json'],
          });
        const { stdin, stdout, env } = process;
        if (!stdin.isTTY || !stdout.isTTY || env.TERM === 'dumb') {
          throw new CliFault('the console needs a terminal.', 'usage', {
            words: 'Without one, use another command, such as',
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
