/**
 * What an email consists of beside its rows: attachments, the source of what was received, long bodies; and pictures. Up to
 * `storage.row_bytes` an email's contents stand in a table, above in the blob store, whose files are compared with what was stored when they are
 * read; readers need not know which.
 */
export {
  bytesWorth,
  contentParts,
  contentsPlacer,
  fileRow,
  linkFiles,
  openContent,
  placeInFiles,
  placeInRows,
  putFiles,
  readContent,
  readContents,
  referToContent,
  rowsWorth,
  sizeOfContent,
  type Placed,
  type PlaceContents,
} from './contents.ts';
export {
  filesOfOwners,
  insertContents,
  removeContents,
  removeFileRows,
  type ContentRow,
  type FileRow,
} from './contents.store.ts';
export { DamagedContent, isWhole, listDamaged, recheckDamaged } from './stored-files.ts';
