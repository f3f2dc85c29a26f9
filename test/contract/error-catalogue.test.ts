import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { errorCatalogue, listOperations, loadContract, resolveRef } from '../../src/contract/index.ts';
import type { ResponseObject } from '../../src/contract/index.ts';

const document = loadContract();
const inCode = Object.entries(errorCatalogue).flatMap(([name, statuses]) =>
  statuses.map((status) => `${status} ${name}`),
);
const inYaml = document['x-errors'].map(({ name, status }) => `${status} ${name}`);

test('errors.yaml and the catalog in code have the same pairs of name and status, each once', () => {
  expect([...inYaml].sort()).toEqual([...inCode].sort());
  expect(new Set(inYaml).size).toBe(inYaml.length);
});

test('docs/errors.md has a row for each error of the catalog, with its meaning', () => {
  const page = readFileSync(path.join(import.meta.dirname, '../../docs/errors.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (\d{3}) \| `(\w+)` \| (.*) \|$/gm)].map(([, status, name, meaning]) => ({
    name,
    status: Number(status),
    meaning,
  }));
  expect(rows).toEqual(document['x-errors']);
});

test('every error in errors.yaml says when it occurs', () => {
  for (const { name, meaning } of document['x-errors']) expect(meaning, name).toMatch(/^.{10,}\.$/);
});

test('the schema of the error name equals the catalog', () => {
  const names = document.components.schemas['ErrorName']?.enum;
  expect([...(names ?? [])].sort()).toEqual(Object.keys(errorCatalogue).sort());
});

test('every refusal of every operation has only names that the catalog has for its status', () => {
  for (const { operationId, operation } of listOperations(document)) {
    for (const [status, declared] of Object.entries(operation.responses)) {
      const response = resolveRef<ResponseObject>(document, declared);
      const names = response['x-error-names'] ?? [];
      // Steps of OAuth are refused in the words of RFC 6749, which the schema of their answer lists.
      const isOfOauth = operation['x-oauth-flow'] === true;
      // A 404 for a method that does not exist is an answer of JSON-RPC, as its protocol wants it.
      const isOfProtocol = operation['x-mcp'] === true && status === '404';
      if (Number(status) >= 400 && !isOfOauth && !isOfProtocol)
        expect(names, `${operationId} ${status}`).not.toEqual([]);
      for (const name of names) expect(inCode).toContain(`${status} ${name}`);
    }
  }
});

test('the examples of a refusal use only its names and its status', () => {
  for (const [key, response] of Object.entries(document.components.responses)) {
    const examples = Object.values(response.content?.['application/json']?.examples ?? {});
    for (const { value } of examples) {
      // An answer in JSON-RPC has words of its own.
      if (Object.hasOwn(value as object, 'jsonrpc')) continue;
      const { name, statusCode } = value as { name: string; statusCode: number };
      expect(response['x-error-names'], key).toContain(name);
      expect(inCode, key).toContain(`${statusCode} ${name}`);
    }
  }
});
