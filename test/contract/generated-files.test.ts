import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { generatedFiles } from '../../src/contract/generated-files.ts';

test.each(await generatedFiles())(
  '$name is what the YAML files generate; if not, run: npm run types',
  ({ name, text }) => {
    expect(readFileSync(join(import.meta.dirname, '../../src/contract', name), 'utf8')).toBe(text);
  },
);
