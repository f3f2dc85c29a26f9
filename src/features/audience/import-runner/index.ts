/**
 * Audience: what happens to contacts in the background. A file of contacts is stored as it comes in, and read row by row;
 * it promises that a row is counted once, whatever dies in between, and that nothing but a batch of rows is ever held in
 * memory. Contacts whose topic waits for their word are asked by mail, once for each asking.
 */
export { createConfirmations, forgetConfirmationMails } from './confirmations.ts';
export { FIELD_BYTES_MAX, FIELDS, importContacts, type ImportPart } from './receive-import.ts';
export { createImportLoop, type Imports, removeImportFiles } from './carry-import.ts';
