/**
 * Audience: background work on contacts. An uploaded file of contacts is stored while it is received, and read row by
 * row. Each row is counted once, even after a crash, and no more than a batch of rows is held in memory. Contacts whose
 * topic requires confirmation are asked by mail, once per request, and so are people who sign up with a form.
 */
export { createImportLoop, removeImportFiles, type Imports } from './import-runner/run-import.ts';
export { createSignUpMails, forgetSignUpAddresses } from './import-runner/sign-up-mails.ts';
export { createConfirmations, forgetConfirmationMails } from './import-runner/confirmations.ts';
export { exportFailedRows } from './import-runner/failed-rows.ts';
export { previewImport } from './import-runner/preview-import.ts';
export { FIELDS, FIELD_BYTES_MAX, importContacts, type ImportPart } from './import-runner/receive-import.ts';
