import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataFolderInUse, lockDataFolder } from '../../src/platform/db/index.ts';
import { openScratchDb } from './scratch-db.ts';
import { scratchFolder } from '../rig/scratch.ts';

const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
});

async function start(...args: string[]): Promise<ChildProcess> {
  const file = path.join(import.meta.dirname, 'process-that-dies.ts');
  const child = spawn(process.execPath, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  expect(said.toString()).toBe('ready\n');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

describe('a data folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = scratchFolder('rasket-hold-');
    mkdirSync(path.join(folder, 'run'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('that another process uses is refused with its name and a solution', async () => {
    const { pid } = await start('hold', folder);
    expect(() => lockDataFolder(folder)).toThrow(DataFolderInUse);
    expect(() => lockDataFolder(folder)).toThrow(
      `another rasket process (${pid}) is using ${folder}; stop it first, or name another folder with --data`,
    );
  });

  it('is free again as soon as its process is dead, however it died', async () => {
    const child = await start('hold', folder);
    await kill(child);
    lockDataFolder(folder)();
  });

  it('cannot be locked twice in one process, and is free after its release', () => {
    const letGo = lockDataFolder(folder);
    expect(() => lockDataFolder(folder)).toThrow(DataFolderInUse);
    letGo();
    lockDataFolder(folder)();
  });
});

it('a process that is killed during a transaction leaves its committed rows and nothing of the open transaction', async () => {
  const scratch = await openScratchDb();
  try {
    await scratch.db.run('create table notes (word text)');
    await scratch.db.run("insert into notes (word) values ('before')");
    const child = await start('write', JSON.stringify(scratch.options));
    await kill(child);
    const words = async () => (await scratch.db.all('select word from notes order by word')).map((row) => row.word);
    expect(await words()).toEqual(['before', 'committed']);
    await scratch.db.run("insert into notes (word) values ('after')");
    expect(await words()).toEqual(['after', 'before', 'committed']);
  } finally {
    await scratch.close();
  }
});
