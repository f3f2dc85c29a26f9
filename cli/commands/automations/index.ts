import type { Command } from 'commander';
import { automationRuns, automations } from '../../families/index.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';

const addFile = (command: Command): Command =>
  command.option('--file <file>', 'the whole automation as YAML or JSON; - for standard input');

export function addAutomationCommands(program: Command): void {
  declareFamily(program, automations, {
    actions: {
      create: {
        description:
          'Create an automation, which is disabled unless --status says otherwise. Steps and connections are JSON, or YAML in a file with that ending; the API reference lists the types of steps and the fields of each config.\n\n' +
          'With --file, everything is read from one file, such as a starting file of the command init; options replace its fields.',
        add: addFile,
        run: async (...call) => (await import('./write-from-file.ts')).runCreate(...call),
      },
      update: {
        description:
          'Only the fields that you name are changed. Steps and connections must be given together and form the next version; runs that have started continue with theirs.\n\n' +
          'With --file, all fields of the file are changed; options replace them.',
        add: addFile,
        run: async (...call) => (await import('./write-from-file.ts')).runUpdate(...call),
      },
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
  const parent = program.commands.find((one) => one.name() === 'automations');
  if (!parent) throw new Error('the command automations is missing');
  addInit(parent);
}

function addInit(parent: Command): void {
  const command = declareCommand(parent, 'init', {
    summary: 'write a starting file for an automation',
    description:
      'Write a commented YAML file to start with. Its first lines name the commands that create what it needs. No server is called.',
    example: 'automations init welcome',
  });
  command.argument('<kind>', 'welcome, cart, win-back or birthday');
  command.argument('[file]', 'the file to write; - for standard output (default: the kind, with .yaml)');
  command.option('--force', 'replace a file that exists');
  command.action(act(async (...call) => (await import('./init.ts')).writeStart(...call), { key: false }));
}
