/**
 * Tables of contacts as text: what a file is and how it is encoded, which column is which, what a row says, and values that
 * no spreadsheet takes for formulas. It never guesses at what a value may have meant.
 */
export {
  columnsOf,
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
