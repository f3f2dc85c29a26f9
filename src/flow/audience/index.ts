/**
 * Imports: a file of contacts is stored as it comes in, and read row by row in the background. It promises that a row is
 * counted once, whatever dies in between, and that nothing but a batch of rows is ever held in memory.
 */
export { createImports, type Imports } from './imports.ts';
export { receiveFile, type ReceivedFile } from './receive-file.ts';
export { removeImportFiles } from './remove-import-files.ts';
