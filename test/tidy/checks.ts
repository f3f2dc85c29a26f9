import { createRequire } from 'node:module';
import path from 'node:path';

/** A program that reports by its exit status whether the tree it is started in is valid. */
export interface Check {
  name: string;
  file: string;
  args: string[];
  env?: Record<string, string>;
}

const root = path.resolve(import.meta.dirname, '../..');
const require = createRequire(import.meta.url);

// Returns the command of a package, run by our own Node: the scripts in node_modules/.bin would use the one on the PATH.
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
  // Generated files are excluded by .gitignore, but must have their types checked as well.
  args: ['.', 'src/contract/types.gen.ts'],
  // The type checker is a Go program that ends before it needs its memory back: collecting it would double the time.
  env: { GOGC: 'off', GOMEMLIMIT: '3GiB' },
};

export const format: Check = { name: 'format', file: command('oxfmt'), args: ['--check', '.'] };

/** The slowest check comes first, so that no core waits for it at the end. */
export const checks: Check[] = [
  typesAndLint,
  { name: 'tidy tests', file: command('vitest'), args: ['run', '--project', 'tidy', '--reporter', 'dot'] },
  { name: 'imports', file: path.join(import.meta.dirname, 'cruise.ts'), args: [] },
  format,
];
