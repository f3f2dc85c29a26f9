import type { Command } from 'commander';
import { CONFIG, DATA, JSON_OUTPUT, WIDE } from './shared-options.ts';

export function addBackups(program: Command): void {
  const backup = program
    .command('backup')
    .argument('<folder>', 'a new or an empty folder')
    .summary('copy database, keys and content into a folder')
    .description(
      'Makes a data folder as it stands at one moment, while the server runs, and reads it again. To restore, make it the data folder again. With PostgreSQL a dump stands in the place of the database (pg_dump, see backup.pg_programs), and rasket restore writes it back.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket backup /var/backups/rasket-monday --data /var/lib/rasket')
    .action(async (folder, options) => (await import('./commands/backup.ts')).backup(folder, options));
  backup
    .command('verify')
    .argument('<folder>', 'what rasket backup or the service has made')
    .summary('read a backup again and say whether it is whole')
    .description(
      'Holds every file against its checksum, has SQLite check the database or pg_restore read the dump, counts the rows, and opens every secret with the key of the backup. Says what is damaged, and ends with 1 then.',
    )
    .option(...CONFIG)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket backup verify /var/backups/rasket-monday')
    .action(async (folder, options) => (await import('./commands/backup.ts')).verify(folder, options));

  program
    .command('restore')
    .argument('<folder>', 'what rasket backup or the service has made')
    .summary('make a data folder of a backup again')
    .description(
      'Reads the backup, then fills an empty data folder with it; with PostgreSQL also the empty database of the settings (pg_restore). The server that is started on it sends nothing until rasket sending on.',
    )
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket restore /var/backups/rasket-monday --data /var/lib/rasket')
    .action(async (folder, options) => (await import('./commands/backup.ts')).restore(folder, options));

  const backups = program
    .command('backups')
    .summary('list the backups that there are, and note those of other programs');
  backups
    .command('list')
    .argument('[folder]', 'the folder that they are in (default backup.directory of the settings)')
    .summary('list the backups that there are')
    .option(...DATA)
    .option(...CONFIG)
    .option(...WIDE)
    .option(...JSON_OUTPUT)
    .addHelpText('after', '\nExample:\n  rasket backups list --data /var/lib/rasket')
    .action(async (folder, options) => (await import('./commands/backups.ts')).printBackups(folder, options));
  backups
    .command('note')
    .summary('say that another program has made a backup')
    .description(
      'For what is backed up by pg_dump or a snapshot of the disk: findings and upgrades go by the age of the last backup.',
    )
    .option('--at <time>', 'when it was made (default now)')
    .option(...DATA)
    .option(...CONFIG)
    .addHelpText('after', '\nExample:\n  rasket backups note --data /var/lib/rasket')
    .action(async (options) => (await import('./commands/backups.ts')).noteMade(options));
}
