import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { formatContractYaml, loadContract } from './load.ts';
import { mergeContract, readContractSources } from './read-sources.ts';

const index = { file: 'openapi.yaml', content: { openapi: '3.1.0', tags: [{ name: 'a' }], paths: {}, components: {} } };

test('the paths and components of all parts are merged into one document', () => {
  const merged = mergeContract(index, [
    { file: 'a.yaml', content: { paths: { '/a': {} }, components: { schemas: { A: {} } } } },
    { file: 'errors.yaml', content: { 'x-errors': [], components: { schemas: { Error: {} } } } },
  ]);
  expect(Object.keys(merged.paths)).toEqual(['/a']);
  expect(Object.keys(merged.components.schemas)).toEqual(['A', 'Error']);
  expect(merged['x-errors']).toEqual([]);
});

test.each([
  { what: 'a path', content: { paths: { '/a': {} } }, label: 'paths./a' },
  { what: 'a schema', content: { components: { schemas: { A: {} } } }, label: 'components.schemas.A' },
])('$what declared twice is refused with both file names', ({ content, label }) => {
  const parts = [
    { file: 'a.yaml', content },
    { file: 'b.yaml', content },
  ];
  expect(() => mergeContract(index, parts)).toThrow(`${label} is declared in a.yaml and again in b.yaml`);
});

test('a key that would be lost in merging is refused', () => {
  expect(() => mergeContract(index, [{ file: 'a.yaml', content: { path: {} } }])).toThrow('a.yaml has the key "path"');
});

test('a family whose file is missing is refused with the path of the file', () => {
  expect(() => readContractSources('/nonexistent')).toThrow(
    'The contract file /nonexistent/openapi.yaml cannot be read',
  );
});

test('the contract as one YAML file equals the document and has no anchors', async () => {
  const document = loadContract();
  const text = await formatContractYaml(document);
  expect(parse(text)).toEqual(document);
  expect(text).not.toMatch(/: [&*]\w/);
});
