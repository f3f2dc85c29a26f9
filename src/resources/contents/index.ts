/**
 * What an email consists of beside its rows: attachments, the source of what was received, long bodies; and pictures. Up to
 * `storage.row_bytes` an email's contents stand in a table, above in the blob store; readers need not know which.
 */
export {
  contentParts,
  contentsPlacer,
  openContent,
  placeInFiles,
  placeInRows,
  readContent,
  readContents,
  referToContent,
  rowsWorth,
  sizeOfContent,
  type Placed,
  type PlaceContents,
} from './contents.ts';
export { insertContents, removeContents, type ContentRow } from './contents.store.ts';
