// `npm run test:changed` runs the tests of what has changed since the last commit, or since `--base REV`. Minutes
// become seconds; before a change lands, `npm test` decides.
import { execFileSync, spawnSync } from 'node:child_process';
import path from 'node:path';
import { testsOfChange } from './tests-of-change.ts';

const root = path.resolve(import.meta.dirname, '../..');
const git = (...args: string[]): string[] =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);

const [option, revision, ...rest] = process.argv.slice(2);
if (
  (option !== undefined && option !== '--base') ||
  (option === '--base' && revision === undefined) ||
  rest.length > 0
) {
  console.error('usage: npm run test:changed [-- --base REVISION]');
  process.exit(64);
}
const changed = [
  ...git('diff', '--name-only', '--diff-filter=d', revision ?? 'HEAD'),
  ...git('ls-files', '--others', '--exclude-standard'),
];
if (changed.length === 0) {
  console.log(`Nothing has changed since ${revision ?? 'the last commit'}.`);
  process.exit(0);
}
const { filters, unknown } = testsOfChange(root, changed);
if (unknown.length > 0)
  console.log(`No tests are known for these files (test/rig/tests-of-change.ts): ${unknown.join(', ')}`);
if (filters.length === 0) process.exit(unknown.length > 0 ? 1 : 0);
// Tests that depend on the database run on both; the files of `pg` are enough during work.
const touchesSql = changed.some((file) => /\.store\.ts$|^migrations\/|^src\/platform\/db\//.test(file));
const projects = [
  'unit',
  'tidy',
  'sqlite',
  ...(touchesSql ? ['pg'] : []),
  ...(filters.includes('test/driver/') ? ['sqlite3'] : []),
];
console.log(`Tests of ${changed.length} changed files: ${filters.join(' ')}`);
const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
const args = [vitest, 'run', '--passWithNoTests', ...projects.flatMap((name) => ['--project', name]), ...filters];
process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
