import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MARK_FILE, readMark, writeMark } from './index.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'rasket-mark-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const seen = (at = folder) => {
  const { mode, uid } = statSync(path.join(at, MARK_FILE));
  return { mode: (mode & 0o777).toString(8), uid, id: readMark(at) };
};
const isRoot = process.getuid?.() === 0;

it('the mark file is readable only for its owner, whatever the umask', () => {
  const before = process.umask(0o077);
  try {
    expect(writeMark(folder, 'one')).toBe('one');
  } finally {
    process.umask(before);
  }
  expect(seen()).toMatchObject({ mode: '600', id: 'one' });
});

it('a mark file that others can read is made private, and keeps its id', () => {
  writeFileSync(path.join(folder, MARK_FILE), 'one\n');
  chmodSync(path.join(folder, MARK_FILE), 0o644);
  expect(writeMark(folder, 'two')).toBe('one');
  expect([seen().mode, readdirSync(folder)]).toEqual(['600', [MARK_FILE]]);
});

// skipped unless the tests run as root
it.skipIf(!isRoot)('a command that root runs leaves a mark file that the service can read', () => {
  const fresh = path.join(folder, 'fresh');
  const older = path.join(folder, 'older');
  for (const one of [fresh, older]) {
    mkdirSync(one, { mode: 0o700 });
    chownSync(one, 4711, 4711);
  }
  writeMark(fresh, 'one');
  expect(seen(fresh)).toMatchObject({ mode: '600', uid: 4711 });
  writeFileSync(path.join(older, MARK_FILE), 'one\n', { mode: 0o644 });
  writeMark(older, 'one');
  // The service itself makes it private when it starts.
  expect(seen(older)).toMatchObject({ mode: '644', uid: 0 });
});
