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
} from './columns.ts';
export { createSniffer, type Encoding, type Sniffed, type Sniffer } from './sniff.ts';
export { defused, quoted } from './defuse.ts';
export { allEnds, endsOutside } from './row-ends.ts';
export { readRow, rowFault, type ReadRow, type RowFault } from './read-row.ts';
