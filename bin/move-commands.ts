import type { Command } from 'commander';
import { CONFIG, DATA, JSON_OUTPUT } from './shared-options.ts';

const DESCRIPTION =
  'Needs the service stopped. Copies every row, compares each with the original, and only then marks the database of before as moved: it is kept, and no start uses it by accident. Content in files stays where it is. Killed, it is simply called again. At its end it says which settings lead to the new database.';

export function addMoves(program: Command): void {
  const declare = (name: string, summary: string, to: [string, string], example: string): Command =>
    program
      .command(name)
      .summary(summary)
      .description(DESCRIPTION)
      .option(...to)
      .option('--dry-run', 'only count what there is to copy, look at both ends and estimate the time')
      .option('--write-config', 'change the settings file as well; its comments stay')
      .option('--undo', 'go back to the database of before, as long as nothing has used the copy')
      .option(...DATA)
      .option(...CONFIG)
      .option(...JSON_OUTPUT)
      .addHelpText('after', `\nExample:\n  rasket ${name} ${example}`);
  declare(
    'migrate-to-postgres',
    'move the installation from SQLite to PostgreSQL',
    ['--to <url>', 'an empty database: postgres://user:password@host/database (or PGPASSWORD)'],
    "--to 'postgres://rasket@/rasket?host=/run/postgresql' --data /var/lib/rasket",
  ).action(async (options) => (await import('./commands/move.ts')).moveTo('pg', options));
  declare(
    'migrate-to-sqlite',
    'move the installation from PostgreSQL to an SQLite file',
    ['--to <file>', 'a new file, relative to the data folder (default database.path of the settings)'],
    '--to rasket.db --data /var/lib/rasket',
  ).action(async (options) => (await import('./commands/move.ts')).moveTo('sqlite', options));
}
