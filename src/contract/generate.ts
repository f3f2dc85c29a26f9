// Writes openapi.gen.json and types.gen.ts from the YAML files; with --check it writes nothing and fails when one is stale.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles } from './generated-files.ts';

for (const { name, text } of await generatedFiles()) {
  const file = join(import.meta.dirname, name);
  if (!process.argv.includes('--check')) {
    writeFileSync(file, text);
  } else if (readIfPresent(file) !== text) {
    console.error(`src/contract/${name} does not match the contract; run: npm run types`);
    process.exitCode = 1;
  }
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
