/**
 * What people type, as the API takes it: the fields of an action from the words of a command or the lines of a form, with
 * the files that they name. It promises that whatever is wrong is said of what was typed, as it is called there.
 */
export { callOf } from './call-of.ts';
export { findLabels } from './find-labels.ts';
export { findId, readPath, saying } from './find-id.ts';
export { importForm } from './import-form.ts';
export { mustBeReadable, readEmails } from './local-file.ts';
export { readBody, type Reading, type Typed } from './read-body.ts';
export { isWords } from './read-where.ts';
export { readNamed, readUtf8 } from './read-message.ts';
export { uploadImage } from './upload-image.ts';
export { onCommandLine, type NameOption } from './read-pairs.ts';
export { isKeyed, isSeveral, splitText } from './syntaxes.ts';
