/**
 * What people and programs read: tables, JSON, and faults in words. It promises that nothing a stranger wrote reaches
 * the terminal as a control character; it never calls the API.
 */
export { clean, cleanJson, cleanLines } from './clean.ts';
export { CliFault } from './cli-fault.ts';
export { explainFault, type Explanation } from './explain-fault.ts';
export { formatPairs, formatTable, formatTime, widthOf, type Column } from './table.ts';
export { openTerminal, type Style, type Terminal, type TerminalInput } from './terminal.ts';
