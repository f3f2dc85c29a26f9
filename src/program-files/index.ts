/**
 * The only code that knows where the program's own files are: next to its sources in a checkout, inside the executable
 * if it is a single file (`packaging/`). Names are relative to the root of the program.
 */
export { loadAddon, offerFolder, mustBeOurs } from './addon.ts';
export {
  executable,
  programFile,
  isSingleFile,
  listUnpacked,
  programRoot,
  tryOutFolder,
  namesIn,
  readProgramFile,
  readProgramText,
  readReleaseKey,
} from './places.ts';
export { moduleUrl, readModuleMap, serveModules } from './modules.ts';
export { startThread } from './thread.ts';
export { readCommit, readVersion } from './version.ts';
