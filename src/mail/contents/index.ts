/**
 * The parts of an email that are not in its rows: attachments, the source of what was received, long bodies; also
 * pictures. Up to `storage.row_bytes`, the contents of an email are stored in a table; above that, in the blob store,
 * whose files are verified whenever they are read. Readers need not know which.
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
