import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readCommit } from './index.ts';

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-version-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const git = (root: string, ...words: string[]): string =>
  execFileSync('git', ['-C', root, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...words], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();

function makeCheckout(name: string): string {
  const root = path.join(folder, name);
  fs.mkdirSync(root);
  git(root, 'init', '--quiet');
  git(root, 'commit', '--quiet', '--allow-empty', '--message', 'First');
  return root;
}

it('the commit of a checkout is read on a branch, from packed references, without a branch and in a worktree', () => {
  const root = makeCheckout('checkout');
  const first = git(root, 'rev-parse', 'HEAD');
  expect(readCommit(root)).toBe(first);
  git(root, 'pack-refs', '--all');
  expect(readCommit(root)).toBe(first);
  git(root, 'commit', '--quiet', '--allow-empty', '--message', 'Second');
  const second = git(root, 'rev-parse', 'HEAD');
  expect(readCommit(root)).toBe(second);
  const worktree = path.join(folder, 'worktree');
  git(root, 'worktree', 'add', '--quiet', '-b', 'feature/one', worktree, first);
  expect(readCommit(worktree)).toBe(first);
  git(root, 'checkout', '--quiet', '--detach', first);
  expect(readCommit(root)).toBe(first);
});

it('a copy without .git has the commit that .commit names, and an empty one if that is missing or malformed', () => {
  expect(readCommit(folder)).toBe('');
  const commit = '0123456789abcdef0123456789abcdef01234567';
  fs.writeFileSync(path.join(folder, '.commit'), `${commit}\n`);
  expect(readCommit(folder)).toBe(commit);
  fs.writeFileSync(path.join(folder, '.commit'), 'no commit\n');
  expect(readCommit(folder)).toBe('');
});

it('a repository without any commit has none', () => {
  const root = path.join(folder, 'empty');
  fs.mkdirSync(root);
  git(root, 'init', '--quiet');
  expect(readCommit(root)).toBe('');
});
