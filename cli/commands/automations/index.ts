import type { Command } from 'commander';
import { automationRuns, automations } from '../../families/index.ts';
import { declareFamily } from '../declare-family.ts';

export function addAutomationCommands(program: Command): void {
  declareFamily(program, automations);
  declareFamily(program, automationRuns, {
    list: {
      description:
        'Lists the runs of an automation, newest first.\n\n' +
        'With --watch it begins with the newest, oldest first, and goes on with each run that begins and each that ends, until Ctrl-C; the 100 newest that are running are followed. With --until-done it ends when none is running, with status 1 where one that it followed has failed.',
      add: (command) =>
        command
          .option('--watch', 'go on listing runs as they begin and end, until Ctrl-C')
          .option('--until-done', 'with --watch: end when no run is running any more'),
      run: async (...call) => (await import('./runs.ts')).runRuns(...call),
    },
  });
}
