/**
 * Audience: what happens to contacts in the background. A file of contacts is stored as it comes in, and read row by row;
 * it promises that a row is counted once, whatever dies in between, and that nothing but a batch of rows is ever held in
 * memory. Contacts whose topic waits for their word are asked by mail, once for each asking.
 */
export { createImportLoop, removeImportFiles, type Imports } from './import-runner/carry-import.ts';
export { createConfirmations, forgetConfirmationMails } from './import-runner/confirmations.ts';
export { FIELDS, FIELD_BYTES_MAX, importContacts, type ImportPart } from './import-runner/receive-import.ts';
