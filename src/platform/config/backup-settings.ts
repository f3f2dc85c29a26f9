import { flag, integer, integerOrNone, text, textOrEmpty } from './kind.ts';

/** Copies of the installation, and what is asked before a newer program changes it. */
export const backupSections = {
  backup: {
    schedule: textOrEmpty('a time of day in UTC, such as 03:30', (value) => /^([01]\d|2[0-3]):[0-5]\d$/.test(value)),
    keep: integer({ min: 1, max: 1000, unit: 'backups' }),
    directory: text('the path of a folder, not empty', (value) => value !== '' && !value.includes('\0')),
    pg_programs: textOrEmpty(
      'the path of a folder from the root',
      (value) => value.startsWith('/') && !value.includes('\0'),
    ),
    max_age_hours: integer({ min: 1, max: 8760, unit: 'hours' }),
  },
  upgrade: {
    backup: flag(),
    backup_age_hours: integerOrNone({ max: 8760, unit: 'hours; 0 for any age' }),
    room_percent: integer({ min: 0, max: 1000, unit: 'per cent of the size of the database; 0 does not ask' }),
    beside_old_nodes: flag(),
  },
};
