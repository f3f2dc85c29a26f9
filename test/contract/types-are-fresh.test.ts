import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadContract } from '../../src/contract/index.ts';
import { renderTypes } from '../../src/contract/render-types.ts';

test('types.gen.ts is what the contract generates; if not, run: node src/contract/generate.ts', async () => {
  const file = join(import.meta.dirname, '../../src/contract/types.gen.ts');
  expect(await renderTypes(loadContract())).toBe(readFileSync(file, 'utf8'));
});
