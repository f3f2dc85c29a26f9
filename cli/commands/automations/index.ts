import type { Command } from 'commander';
import { automationRuns, automations } from '../../families/index.ts';
import { declareFamily } from '../declare-family.ts';

export function addAutomationCommands(program: Command): void {
  declareFamily(program, automations, {
    actions: {
      'retry-failed': { run: async (...call) => (await import('./retry-failed.ts')).runRetryFailed(...call) },
    },
  });
  declareFamily(program, automationRuns, {
    list: {
      description:
        'List the runs of an automation, newest first.\n\n' +
        'With --watch, prints the newest runs, oldest first, and then each run that starts or ends, until Ctrl-C; it follows the 100 newest runs that are running. With --until-done, exits when no run is running, with status 1 if a run that it followed has failed.',
      add: (command) =>
        command
          .option('--watch', 'list further runs as they start and end, until Ctrl-C')
          .option('--until-done', 'with --watch: exit when no run is running any more'),
      run: async (...call) => (await import('./runs.ts')).runRuns(...call),
    },
  });
}
