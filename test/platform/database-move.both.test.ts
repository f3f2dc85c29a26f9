// an installation, stopped --> moveDatabase --> its rows in another SQLite file, and one database in force at any moment
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished, vi } from 'vitest';
import { closeStore, connectAsFound, migrateStore, openStore } from '../../src/open-store.ts';
import { isFenced, openDb, tableShapes, type Db } from '../../src/platform/db/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { APART } from '../../src/features/installation/moves/move-ends.ts';
import {
  moveDatabase,
  planMove,
  undoMove,
  type MoveOrder,
  leaveSource,
} from '../../src/features/installation/moves/move-database.ts';
import { SEALED_COLUMNS } from '../../src/sealed-columns.ts';
import { mailIn } from '../flow/mail.ts';
import { startScene, type Scene } from '../rig/scene.ts';

vi.setConfig({ testTimeout: 120_000 });

interface Stage {
  scene: Scene;
  order: MoveOrder;
  /** The Store of a command or a server, on the database of before or on the new one. */
  openOn(which: 'from' | 'to'): Promise<Store>;
}

/** Two emails of which one has a file, and the service stopped. */
async function stoppedScene(more: Partial<MoveOrder['watch']> = {}): Promise<Stage> {
  const scene = await startScene();
  onTestFinished(() => scene.close());
  const mail = await mailIn(scene);
  const content = Buffer.alloc(400_000, 7).toString('base64');
  await mail.send('a@one.example', { attachments: [{ filename: 'a.bin', content }] });
  await mail.send('b@one.example');
  await scene.settled();
  const { config, dataDir, blobs, secrets, clock, log } = scene.app.world;
  await scene.app.close(0);
  const { driver, url, path: file, pool_max: poolMax } = config.database;
  const from = { options: { driver, url, file: path.resolve(dataDir, file), poolMax }, says: 'the old one' };
  const name = 'moved.db';
  const none = '';
  const to = {
    options: { driver: 'better-sqlite3' as const, url: none, file: path.join(dataDir, name), poolMax: 1 },
    says: 'the new one',
  };
  const moved = { ...config, database: { ...config.database, driver: to.options.driver, url: none, path: name } };
  const openTarget = (): Promise<Store> => connectAsFound({ config: moved, dataDir, clock, log });
  const watch = { begin: () => undefined, done: () => undefined, replaced: () => undefined, ...more };
  return {
    scene,
    order: {
      config,
      dataDir,
      blobs,
      secrets,
      clock,
      from,
      to,
      openTarget,
      watch,
      sealed: async () => SEALED_COLUMNS,
      conclude: async () => undefined,
    },
    openOn: (which) => openStore({ config: which === 'to' ? moved : config, dataDir, clock, log }),
  };
}

const locateFile = ({ scene }: Stage): string => {
  const blobs = path.join(scene.dataDir, 'blobs');
  const found = readdirSync(blobs, { recursive: true, withFileTypes: true }).find(
    (one) => one.isFile() && one.name !== 'installation.id' && !one.name.startsWith('shared-'),
  );
  return path.join(found?.parentPath ?? '', found?.name ?? '');
};

it('exactly one database is in use at any moment: the old one, the new one, and the old one again after an undo', async () => {
  const stage = await stoppedScene();
  const { order, openOn } = stage;
  const plan = await planMove(order);
  expect(plan.tables.find(({ name }) => name === 'emails')).toEqual({ name: 'emails', rows: 2 });
  const { hashes, contents } = await moveDatabase(order);
  expect(hashes.find(({ name }) => name === 'emails')).toMatchObject({ rows: 2 });
  expect(contents).toMatchObject({ named: 1, files: 1, missing: 0 });
  await expect(openOn('from')).rejects.toThrow(/this database was moved to the new one/);
  await expect(moveDatabase(order)).rejects.toThrow(/the move was already made: the rows are in the new one/);

  await undoMove(order);
  await closeStore(await openOn('from'));
  await expect(openOn('to')).rejects.toThrow(/this database is an unfinished copy of the old one/);

  // Made anew over what is there.
  expect((await planMove(order)).isAgain).toBe(true);
  await moveDatabase(order);
  const used = await openOn('to');
  await migrateStore(used);
  await closeStore(used);
  await expect(openOn('from')).rejects.toThrow(/this database was moved/);
  await expect(undoMove(order)).rejects.toThrow(/the new one is not an unused copy of the old one/);
});

it('a program with the old database open can no longer write to it, until the move is undone', async () => {
  const { order } = await stoppedScene();
  const { options } = order.from;
  // On PostgreSQL the connection has a name that the move does not know as one of ours.
  const db = await openDb({ ...options, url: `${options.url}?application_name=somebody` });
  onTestFinished(() => db.close());
  let refused = 0;
  db.onFenced(() => refused++);
  const tables = (await tableShapes(db)).filter(({ name }) => !(name in APART));
  const rename = (): Promise<number> => db.run('update teams set name = name');
  expect(await rename()).toBe(1);
  await moveDatabase(order);
  const writes = [rename, () => db.tx((tx) => tx.run('delete from emails')), () => insertOne(db)];
  for (const write of writes) await expect(write()).rejects.toSatisfy(isFenced);
  expect(refused).toBe(3);
  expect(await fencedTables(db)).toEqual(expect.arrayContaining(tables.map(({ name }) => name)));
  await undoMove(order);
  expect(await rename()).toBe(1);
  expect(await fencedTables(db)).toEqual([]);
});

const insertOne = (db: Db): Promise<number> =>
  db.insertMany('instance_settings', ['name', 'value', 'changed_at'], [['planted', '1', 1]]);

async function fencedTables(db: Db): Promise<string[]> {
  const sql =
    db.dialect === 'pg'
      ? `select distinct tgrelid::regclass::text as name from pg_trigger where tgname like 'refuses_writes%'`
      : `select distinct tbl_name as name from sqlite_master where type = 'trigger' and name like 'refuses_writes%'`;
  return (await db.all<{ name: string }>(sql)).map(({ name }) => name);
}

/** Ends the session of the move, as the server does after the process of the move was killed. */
async function endMoveSession({ from }: MoveOrder): Promise<void> {
  if (from.options.driver !== 'pg') return;
  const db = await openDb(from.options);
  const sessions = `from pg_stat_activity where datname = current_database() and application_name like 'rasket-move-%'`;
  await db.all(`select pg_terminate_backend(pid) ${sessions}`);
  await vi.waitFor(async () => expect(await db.all(`select pid ${sessions}`)).toEqual([]), { timeout: 60_000 });
  await db.close();
}

it('a move that fails or is killed while rows are compared leaves the old database in use', async () => {
  let isFailing = true;
  const stage = await stoppedScene({
    begin(phase) {
      if (phase === 'indexing' && isFailing) throw new Error('planted');
    },
  });
  const { order, openOn } = stage;
  await expect(moveDatabase(order)).rejects.toThrow('planted');
  const db = await openDb(order.from.options);
  expect(await db.run('update teams set name = name')).toBe(1);
  await db.close();

  // A kill leaves this state: nothing was cleaned up.
  await leaveSource(order, { ...order, installation: 'x', isMoved: false, isUnchanged: async () => true });
  await endMoveSession(order);
  const killed = await openOn('from');
  await expect(insertOne(killed.db)).rejects.toSatisfy(isFenced);
  await migrateStore(killed);
  expect(await insertOne(killed.db)).toBe(1);
  await closeStore(killed);

  const leaving = await leaveSource(order, {
    ...order,
    installation: 'x',
    isMoved: false,
    isUnchanged: async () => true,
  });
  await endMoveSession(order);
  const started = await openOn('from');
  await migrateStore(started);
  await expect(leaving.giveUp(), 'somebody has started on it').rejects.toThrow(/was changed while it was copied/);
  await closeStore(started);
  isFailing = false;
  await moveDatabase(order);
  await expect(openOn('from')).rejects.toThrow(/this database was moved to the new one/);
});

it('a start on the new database does not continue when the move is undone meanwhile', async () => {
  const { order, openOn } = await stoppedScene();
  await moveDatabase(order);
  const starting = await openOn('to');
  await undoMove(order);
  await expect(migrateStore(starting)).rejects.toThrow(/this database is an unfinished copy of the old one/);
  await closeStore(starting);
  await closeStore(await openOn('from'));
});

it('a write to the old database during the copy is detected, and that database stays in use', async () => {
  let isWritten = false;
  const stage = await stoppedScene({
    done(table) {
      if (table !== 'teams' || isWritten) return;
      isWritten = true;
      writeAside?.();
    },
  });
  const { order, openOn } = stage;
  let writeAside: (() => void) | undefined;
  if (order.from.options.driver === 'pg') {
    // An open connection is found before anything is copied.
    const db = await openDb(order.from.options);
    await db.get('select 1 as one from teams');
    await expect(moveDatabase(order)).rejects.toThrow(/other connections? of rasket (is|are) open to the old one/);
    await db.close();
  } else {
    writeAside = () => {
      const aside = new Sqlite(order.from.options.file);
      aside.prepare('update emails set subject = ?').run('Changed');
      aside.close();
    };
    await expect(moveDatabase(order)).rejects.toThrow(/the old one was changed while it was copied/);
    await expect(openOn('to')).rejects.toThrow(/unfinished copy/);
  }
  await closeStore(await openOn('from'));
});

it('missing content that a row names is reported', async () => {
  const stage = await stoppedScene();
  rmSync(locateFile(stage));
  const { contents } = await moveDatabase(stage.order);
  expect(contents).toMatchObject({ named: 1, missing: 1 });
  expect(contents.faults).toEqual([expect.stringMatching(/^email_attachments \S+: the content \S+ is missing$/)]);
});
