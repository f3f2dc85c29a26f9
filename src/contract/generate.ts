// Generates missing and stale files from the YAML files: the merged document, and the types, which only the compiler
// and editors need. Neither is committed. With --document it generates only the document, which needs no development
// package.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadContract, sourcesHash } from './load.ts';

const document = loadContract();
const file = join(import.meta.dirname, 'types.gen.ts');
const header = `// Generated from the contract by src/contract/generate.ts: change the YAML files. Sources ${sourcesHash()}\n\n`;
if (!process.argv.includes('--document') && !readIfPresent(file).startsWith(header)) {
  const { renderTypes } = await import('./render-types.ts');
  writeFileSync(file, header + (await renderTypes(document)));
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
