import { isSingleFile, readProgramText } from '../program-files/index.ts';

/**
 * Returns the merged document of a single-file executable, which has no sources to merge. A build has its own version
 * of this module (bin/build.ts).
 */
export const readCarried = (): string | undefined =>
  isSingleFile ? readProgramText('src/contract/openapi.json') : undefined;
