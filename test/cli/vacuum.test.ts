import fs from 'node:fs';
import path from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { driver } from '../rig/database.ts';
import { Desk, expectOneLine } from './desk.ts';

// Several processes one after the other, on whatever else the machine does.
vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
let env: Record<string, string>;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
  await desk.rasket(['init', '--data', 'data'], { env });
});
afterEach(() => desk.clear());

const rasket = (...words: string[]) => desk.rasket([...words, '--data', 'data'], { env });

// skipped because PostgreSQL has its own VACUUM
describe.skipIf(driver === 'pg')('rasket vacuum', () => {
  it('shrinks the file, and makes one of an older version able to shrink', async () => {
    const file = path.join(desk.folder, 'data', 'rasket.db');
    const old = new Sqlite(file);
    // An earlier version made files like this: VACUUM alone would keep what the header says.
    old.pragma('journal_mode = DELETE');
    old.pragma('auto_vacuum = NONE');
    old.exec('vacuum');
    const compact = fs.statSync(file).size;
    old.exec('create table ballast (text text)');
    for (let rows = 0; rows < 1000; rows++) old.prepare('insert into ballast values (?)').run('x'.repeat(10_000));
    old.exec('drop table ballast');
    expect(old.pragma('auto_vacuum', { simple: true })).toBe(0);
    old.close();
    const before = fs.statSync(file).size;
    const ran = await rasket('vacuum');
    const after = fs.statSync(file).size;
    const inMb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
    expect(ran).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(`rasket\\.db had ${inMb(before)} and has ${inMb(after)} now\\.\n$`),
    });
    expect(before).toBeGreaterThan(compact + 10_000_000);
    // Files that can shrink have a map of their pages as well.
    expect(after).toBeLessThan(compact * 1.02);
    const made = new Sqlite(file);
    expect(made.pragma('auto_vacuum', { simple: true })).toBe(2);
    made.close();
    expect((await rasket('teams', 'list')).stdout).toContain('my-team');
  });

  it('is refused while a server runs', async () => {
    await desk.serve(['serve', '--data', 'data'], { env });
    expectOneLine(await rasket('vacuum'), /another rasket process \(\d+\) is using/);
  });
});

// runs only with PostgreSQL, which says how it is done there
it.runIf(driver === 'pg')('rasket vacuum suggests VACUUM FULL for a database on a server', async () => {
  expectOneLine(await rasket('vacuum'), /VACUUM FULL/);
});
