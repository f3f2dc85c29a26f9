import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { openTrackJournal, type TrackJournal } from './track-journal.ts';

const OWNER = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01';
const MIB = 1024 * 1024;

let runDir: string;
beforeEach(() => {
  runDir = mkdtempSync(path.join(os.tmpdir(), 'rasket-test-'));
  const made = runDir;
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
});

const open = (): TrackJournal => openTrackJournal({ runDir, owner: OWNER, bytesMax: 8 * MIB, isAlone: true });
const engagement = (id: string, userAgent = '') => ({ id, at: 0, emailId: 'e', ipAddress: '192.0.2.1', userAgent });

it('a journal file that another process took does not keep the other files from being read', () => {
  const journal = open();
  journal.append([engagement('1', 'x'.repeat(MIB))]);
  journal.append([engagement('2')]);
  rmSync(path.join(runDir, `tracked-${OWNER}-1.log`));
  journal.close();
  expect(readdirSync(runDir)).toEqual([`tracked-left-${OWNER}-2.log`]);
  const next = open();
  expect(next.take(10)?.engagements.map(({ id }) => id)).toEqual(['2']);
  next.close();
});

it('a file of an earlier process keeps its name and its engagements until they are recorded', () => {
  const first = open();
  first.append([engagement('1')]);
  first.close();
  for (let start = 0; start < 3; start++) {
    const journal = open();
    expect(journal.take(10)?.engagements.map(({ id }) => id)).toEqual(['1']);
    journal.close();
    expect(readdirSync(runDir)).toEqual([`tracked-left-${OWNER}-1.log`]);
  }
});

it('a full disk leaves neither open nor empty journal files', () => {
  // A limit of zero bytes per file has the same effect as a full disk.
  const source = `
    import { closeSync, openSync } from 'node:fs';
    import { openTrackJournal } from ${JSON.stringify(new URL('./track-journal.ts', import.meta.url).href)};
    const [runDir] = process.argv.slice(1);
    const journal = openTrackJournal({ runDir, owner: '${OWNER}', bytesMax: ${MIB}, isAlone: true });
    const nextHandle = () => { const handle = openSync(runDir); closeSync(handle); return handle; };
    const before = nextHandle();
    const codes = [];
    for (let n = 0; n < 3; n++) {
      try { journal.append([{ id: 'x' }]); } catch (error) { codes.push(error.code); }
    }
    console.log(JSON.stringify({ codes, opened: nextHandle() - before, waiting: journal.waitingBytes() }));
  `;
  const command = 'ulimit -f 0 && exec "$0" --input-type=module -e "$1" "$2"';
  const { stdout, stderr } = spawnSync('sh', ['-c', command, process.execPath, source, runDir], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual({ codes: ['EFBIG', 'EFBIG', 'EFBIG'], opened: 0, waiting: 0 });
  expect(readdirSync(runDir)).toEqual([]);
});
