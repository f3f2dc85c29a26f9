/**
 * What people type, as the API takes it: the fields of an action from the words of a command or the lines of a form, with
 * the files that they name. It promises that whatever is wrong is said of what was typed, as it is called there.
 */
export { callOf, readBody, type Reading, type Typed } from './read-body.ts';
export { findLabels, findId, readPath, saying } from './find-id.ts';
export { importForm, mustBeReadable, readEmails, uploadImage } from './local-file.ts';
export { isWords } from './read-where.ts';
export { readNamed, readUtf8, onCommandLine, type NameOption, isKeyed, isSeveral, splitText } from './syntaxes.ts';
