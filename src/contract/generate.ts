// Writes types.gen.ts from the contract; with --check it writes nothing and fails when the file is stale.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadContract } from './load.ts';
import { renderTypes } from './render-types.ts';

const file = join(import.meta.dirname, 'types.gen.ts');
const text = await renderTypes(loadContract());
if (!process.argv.includes('--check')) {
  writeFileSync(file, text);
} else if (readIfPresent(file) !== text) {
  console.error('src/contract/types.gen.ts does not match the contract; run: node src/contract/generate.ts');
  process.exitCode = 1;
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
