import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { plantTree } from '../tidy/plant.ts';

let tree: ReturnType<typeof plantTree>;
let folder: string;
beforeEach(() => {
  tree = plantTree({}, ['src/contract', 'src/program-files', 'package.json']);
  folder = path.join(tree.root, 'src/contract');
  for (const name of fs.readdirSync(folder)) if (name.includes('.gen.')) fs.rmSync(path.join(folder, name));
});
afterEach(() => tree.remove());

/** Returns the ids of all operations, as a fresh process reads them. */
function operationIds(): string[] {
  const script = `const { loadRoutes } = await import(${JSON.stringify(path.join(folder, 'routes.ts'))});
    console.log(JSON.stringify(Object.keys(loadRoutes())));`;
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }),
  ) as string[];
}

const cache = (): string => path.join(folder, 'openapi.gen.json');

function renameOperation(): void {
  const family = path.join(folder, 'usage.yaml');
  fs.writeFileSync(
    family,
    fs.readFileSync(family, 'utf8').replace('operationId: getUsage', 'operationId: getUsageRenamed'),
  );
}

it('the merged document is created when it is missing, and again when a YAML file has changed', () => {
  expect(operationIds()).toContain('getUsage');
  expect(fs.existsSync(cache())).toBe(true);
  renameOperation();
  const ids = operationIds();
  expect(ids).toContain('getUsageRenamed');
  expect(ids).not.toContain('getUsage');
});

it('an up-to-date merged document is read and not created again', () => {
  operationIds();
  const kept = JSON.parse(fs.readFileSync(cache(), 'utf8')) as { document: { paths: Record<string, unknown> } };
  kept.document.paths = {};
  fs.writeFileSync(cache(), JSON.stringify(kept));
  expect(operationIds()).toEqual([]);
});

it('the document is correct when the folder cannot be written', () => {
  // A folder in its place: the file can be neither read nor replaced, by root neither.
  fs.mkdirSync(path.join(cache(), 'in-the-way'), { recursive: true });
  renameOperation();
  expect(operationIds()).toContain('getUsageRenamed');
  expect(fs.readdirSync(folder).filter((name) => name.startsWith('openapi.gen.json.'))).toEqual([]);
});
