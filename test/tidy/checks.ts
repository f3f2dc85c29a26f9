import { createRequire } from 'node:module';
import path from 'node:path';

/** A program that says by its exit whether the tree it is started in is sound. */
export interface Check {
  name: string;
  file: string;
  args: string[];
  env?: Record<string, string>;
}

const root = path.resolve(import.meta.dirname, '../..');
const require = createRequire(import.meta.url);

// The command of a package, run by our own Node: the scripts in node_modules/.bin would take whichever the PATH has.
function command(pack: string, bin = pack): string {
  const manifest = path.join(root, 'node_modules', pack, 'package.json');
  const { bin: bins } = require(manifest) as { bin: string | Record<string, string> };
  const file = typeof bins === 'string' ? bins : bins[bin];
  if (!file) throw new Error(`${pack} has no command ${bin}`);
  return path.join(path.dirname(manifest), file);
}

export const typesAndLint: Check = {
  name: 'types and lint',
  file: command('oxlint'),
  // What is generated is left out by .gitignore, and must have its types checked as well.
  args: ['.', 'src/contract/types.gen.ts'],
  // The type checker is a Go program that ends before it needs its memory back: collecting it would double the time.
  env: { GOGC: 'off', GOMEMLIMIT: '3GiB' },
};

export const format: Check = { name: 'format', file: command('oxfmt'), args: ['--check', '.'] };

/** The slowest first, so that no core is left waiting for it at the end. */
export const checks: Check[] = [
  typesAndLint,
  { name: 'tidy tests', file: command('vitest'), args: ['run', '--project', 'tidy', '--reporter', 'dot'] },
  { name: 'imports', file: path.join(import.meta.dirname, 'cruise.ts'), args: [] },
  format,
];
