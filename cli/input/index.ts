/**
 * Turns what people type into what the API takes: the fields of an action from the words of a command or the lines of a
 * form, with the files that they name. Every fault refers to the typed text, by its name there.
 */
export { buildCall, readBody, readStructure, type Reading, type Typed } from './read-body.ts';
export { editText, editWithEditor, findEditor, type Written } from './edit-text.ts';
export { findLabels, findId, readPath, describeItem } from './find-id.ts';
export { importForm, mustBeReadable, readEmails, uploadImage } from './local-file.ts';
export { isWords } from './read-where.ts';
export {
  readTimeAhead,
  readNamed,
  readUtf8,
  onCommandLine,
  type NameOption,
  isKeyed,
  isSeveral,
  splitText,
} from './syntaxes.ts';
