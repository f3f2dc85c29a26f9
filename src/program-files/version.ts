import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isSingleFile, programRoot, readProgramText } from './places.ts';

/** How many digits of a commit a version names: as many as `git log --abbrev=8` prints. */
const DIGITS = 8;
const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/**
 * Returns the version of this program with the commit it was made from, such as `0.1.0+ee850824`. A copy that does not
 * know its commit has the version of `package.json` alone.
 */
export function readVersion(): string {
  const { version } = JSON.parse(readProgramText('package.json')) as { version: string };
  const commit = isSingleFile ? readProgramText('.commit').trim() : readCommit(programRoot);
  return commit === '' ? version : `${version}+${commit.slice(0, DIGITS)}`;
}

/**
 * Returns the commit of a checkout, from the files of its `.git`, because starting git would take longer than a whole
 * command. A copy without them has the commit in `.commit` (install.sh and source archives write it); otherwise the
 * result is empty.
 */
export function readCommit(root: string): string {
  const commit = readHead(root) ?? readText(path.join(root, '.commit'));
  return commit !== undefined && COMMIT.test(commit) ? commit : '';
}

function readHead(root: string): string | undefined {
  // In a worktree, `.git` is a file that names the folder.
  const link = /^gitdir: (.+)$/.exec(readText(path.join(root, '.git')) ?? '')?.[1];
  const git = path.resolve(root, link ?? '.git');
  const head = readText(path.join(git, 'HEAD'));
  const ref = /^ref: (refs\/.+)$/.exec(head ?? '')?.[1];
  if (ref === undefined) return head;
  const common = path.resolve(git, readText(path.join(git, 'commondir')) ?? '.');
  return readText(path.join(common, ref)) ?? findPacked(common, ref);
}

const findPacked = (folder: string, ref: string): string | undefined =>
  readText(path.join(folder, 'packed-refs'))
    ?.split('\n')
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(' ')[0];

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
