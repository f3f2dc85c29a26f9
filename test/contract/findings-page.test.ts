import path from 'node:path';
import { expect, test } from 'vitest';
import { loadContract } from '../../src/contract/index.ts';
import { KNOWN } from '../../src/platform/finding.ts';
import { renderFindingsPage } from '../../src/platform/finding-help.ts';

test('docs/findings.md is what the program generates; `vitest -u` writes it', async () => {
  await expect(renderFindingsPage()).toMatchFileSnapshot(path.join(import.meta.dirname, '../../docs/findings.md'));
});

test('docs/findings.md has a section for each code of the contract', () => {
  const schema = loadContract().components.schemas.FindingCode as { enum: string[] };
  const page = renderFindingsPage();
  expect(schema.enum.filter((code) => !page.includes(`\n## ${code}\n`))).toEqual([]);
  expect(Object.keys(KNOWN).toSorted()).toEqual(schema.enum.toSorted());
});
