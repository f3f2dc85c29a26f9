/**
 * The output for people and programs: tables, items, JSON, and faults in words. No control characters of untrusted
 * senders reach the terminal; this never calls the API.
 */
export {
  formatCommand,
  commandsIn,
  isByHand,
  formatKeyOrigin,
  createLineFormatter,
  type Chosen,
  type FormatAdvice,
  everyFamily,
} from './advice.ts';
export { clean, cleanJson, cleanLines, howToType, isNameTyped, nameToType } from './clean.ts';
export { CliFault } from './cli-fault.ts';
export { findProcess, type CommandProcess, EXIT } from './command-process.ts';
export { formatFindings, formatProseRows, type FindingText } from './findings-text.ts';
export { formatHistory, formatQueuedEmail } from './email-story.ts';
export {
  explainFault,
  type Explanation,
  type Translate,
  beOperator,
  isOperators,
  setOne,
  type KeyInUse,
  ADDRESS_MISSING,
  listFor,
} from './explain-fault.ts';
export {
  cellText,
  formatItem,
  itemPairs,
  listColumns,
  namedFields,
  pickFields,
  shownFields,
  toStyle,
  tableColumns,
  type Fields,
  shortId,
} from './items.ts';
export { formatPairs, formatTable, openTable, type Column, type Table } from './table.ts';
export { openFile, openInBrowser } from './open-on-desktop.ts';
export { fitProse, shorten, measureWidth } from './prose.ts';
export { qrLines, openTerminal, type Style, type Terminal, type TerminalInput } from './terminal.ts';
export { formatEmailBody, formatEmailHead, quote, type ThreadEmail } from './thread-text.ts';
export { harmlessName, mustBeFree, save } from './save-file.ts';
export { formatTime, listTime, shortTime } from './time.ts';
export { describeChange } from './zone-change.ts';
