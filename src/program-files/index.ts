/**
 * The one place that knows where the program has its own files: beside its sources in a checkout, inside the executable
 * where it is a single file (`packaging/`). Names are relative to the root of the program.
 */
export { loadAddon, offerFolder } from './addon.ts';
export { mustBeOurs } from './own-folder.ts';
export { executable, filesBeside, isSingleFile, programRoot, tryOutFolder } from './places.ts';
export { namesIn, readProgramFile, readProgramText } from './read.ts';
export { moduleUrl, readModuleMap, serveModules } from './modules.ts';
export { startThread } from './thread.ts';
