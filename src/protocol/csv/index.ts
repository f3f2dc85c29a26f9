/**
 * Tables of contacts as text: detects the format and encoding of a file, finds its columns, reads its rows, and writes
 * values that no spreadsheet takes for formulas. It never guesses what a value may have meant.
 */
export { addDecimalSign, type ColumnSign } from './cell-values.ts';
export {
  FAILURE_COLUMNS,
  findColumns,
  isOfFailures,
  findObviousProperty,
  unclaimedIdLists,
  ID_LISTS,
  OWN_COLUMNS,
  type Columns,
  type IdList,
  type ColumnMap,
  type IgnoredColumn,
  type ImportedColumn,
} from './find-columns.ts';
export {
  cellFault,
  readRow,
  rowFault,
  type CellType,
  type ReadRow,
  type RowFault,
  type SkippedValue,
} from './read-row.ts';
export { defused, undefused, quoted } from './spreadsheet-cells.ts';
export { createSniffer, type Encoding, type Sniffed, type Sniffer, allEnds, endsOutside } from './sniff.ts';
