import path from 'node:path';
import { expect, it } from 'vitest';
import { listFiles } from '../tidy/tree.ts';
import { rowsWithoutTests, testsOfChange } from './tests-of-change.ts';

const root = path.resolve(import.meta.dirname, '../..');
const findFilters = (...changed: string[]): string[] => testsOfChange(root, changed).filters;

it('every row of the table selects existing tests', () => {
  const files = listFiles(root);
  expect(rowsWithoutTests(files)).toEqual([]);
  expect(rowsWithoutTests(files.filter((file) => !file.startsWith('test/api/queue/')))).toContain('test/api/queue/');
});

it('a change in one family selects that family’s tests, in whichever tree it is', () => {
  expect(findFilters('src/features/audience/topics/topics.ts')).toEqual(['test/api/topics/']);
  expect(findFilters('src/contract/topics.yaml')).toEqual(['src/contract/', 'test/api/topics/']);
  expect(findFilters('src/features/audience/operations.ts')).toContain('test/api/topics/');
  expect(findFilters('cli/families/topics.ts')).toContain('test/api/topics/');
  expect(findFilters('cli/families/topics.ts')).toContain('test/cli/commands');
});

it('a changed test selects itself, and an unknown file is reported', () => {
  expect(findFilters('test/flow/retries.test.ts')).toEqual(['test/flow/retries.test.ts']);
  expect(testsOfChange(root, ['elsewhere/new.ts']).unknown).toEqual(['elsewhere/new.ts']);
});
