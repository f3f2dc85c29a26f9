import { isSingleFile, readProgramText } from '../program-files/index.ts';

/** The merged document, where it comes without what it was merged from: in a single file. A build has its own (bin/build.ts). */
export const readCarried = (): string | undefined =>
  isSingleFile ? readProgramText('src/contract/openapi.json') : undefined;
