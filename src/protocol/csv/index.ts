/**
 * Tables of contacts as text: detects the format and encoding of a file, finds its columns, reads its rows, and writes
 * values that no spreadsheet takes for formulas. It never guesses what a value may have meant.
 */
export {
  findColumns,
  unclaimedIdLists,
  ID_LISTS,
  OWN_COLUMNS,
  type Columns,
  type IdList,
  type ColumnMap,
  type IgnoredColumn,
  type ColumnsResult,
  defused,
  quoted,
  readRow,
  rowFault,
  type ReadRow,
  type RowFault,
} from './read-row.ts';
export { createSniffer, type Encoding, type Sniffed, type Sniffer, allEnds, endsOutside } from './sniff.ts';
