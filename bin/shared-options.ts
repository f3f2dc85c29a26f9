/** Options that several commands on this machine have. */
export const DATA = [
  '--data <dir>',
  'the data folder (RASKET_DATA; default that of the installation, or ./data)',
] as const;
export const CONFIG = [
  '--config <file>',
  'the configuration file (RASKET_CONFIG; default that of the installation)',
] as const;
export const WIDE = ['--wide', 'show every column, each row on one line'] as const;
export const NO_BACKUP = [
  '--no-backup',
  'where the database is of an older version: change it without a backup, however old the last one is',
] as const;
export const JSON_OUTPUT = ['--json', 'print JSON'] as const;
