/**
 * Imports of contacts: what was handed in, how far it has come and what failed of it. It promises that a row is counted
 * once: counts and position are written in the transaction that writes the row. Reading the file is the audience stage's.
 */
export {
  claimImports,
  finishImport,
  oldestWaitingOfEachTeam,
  importsWithOldFile,
  noteFileRemoved,
  importsWithFileAmong,
  writeProgress,
  type ImportRow,
  type Progress,
} from './contact-imports.store.ts';
export {
  checkImport,
  queueImport,
  mustBeWithinImportLimit,
  type ImportForm,
  type ImportOptions,
  getContactImport,
  getContactImportFailures,
  listContactImports,
} from './contact-imports.ts';
