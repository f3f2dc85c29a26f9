/**
 * What people and programs read: tables, items, JSON, and faults in words. It promises that nothing a stranger wrote
 * reaches the terminal as a control character; it never calls the API.
 */
export { callOf, commandsIn, isByHand, keyOf, sayOnLine, type Chosen, type Say } from './advice.ts';
export { clean, cleanJson, cleanLines } from './clean.ts';
export { CliFault } from './cli-fault.ts';
export { processOf, type CommandProcess } from './command-process.ts';
export { tellHistory } from './email-story.ts';
export { tellQueuedEmail } from './queued-email-story.ts';
export { everyFamily } from './every-family.ts';
export { EXIT } from './exit-codes.ts';
export { explainFault, type Explanation, type Translate } from './explain-fault.ts';
export {
  cellText,
  formatItem,
  itemPairs,
  listColumns,
  namedFields,
  pickFields,
  shownFields,
  styleOf,
  tableColumns,
  type Fields,
} from './items.ts';
export { beOperator, isOperators, setOne, type KeyInUse } from './key-advice.ts';
export { formatPairs, formatTable, openTable, type Column, type Table } from './table.ts';
export { adviceOfReason, listFor } from './fault-advice.ts';
export { fitProse } from './prose.ts';
export { qrLines } from './qr-lines.ts';
export { openTerminal, type Style, type Terminal, type TerminalInput } from './terminal.ts';
export { bodyOf, headOf, quote, type ThreadEmail } from './thread-text.ts';
export { shortId } from './short-id.ts';
export { formatTime, listTime, shortTime } from './time.ts';
export { shorten, widthOf } from './width.ts';
export { tellChange } from './zone-change.ts';
export { howToType, isNameTyped, nameToType } from './typed-name.ts';
