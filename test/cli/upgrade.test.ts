// A newer program on the database of an older one: what it asks for before it changes anything
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { closeStore, openStore } from '../../src/open-store.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { openDb, schemaState, type Db } from '../../src/platform/db/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { forgetNode } from '../../src/features/installation/findings/node-report.ts';
import { noteBackup } from '../../src/tenancy/instance/index.ts';
import { createDatabase } from '../rig/database-server.ts';
import { driver } from '../rig/database.ts';
import { makeNextProgram, NEXT_MIGRATION } from '../rig/next-program.ts';
import { startPostgres, type Postgres } from '../rig/pg.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { Desk, expectOneLine, type Ended } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

/** The folder and the executable of the next version, which has one more migration. */
let nextFolder: string;
let nextProgram: string;
beforeAll(() => {
  nextFolder = scratchFolder('rasket-next-');
  nextProgram = makeNextProgram(nextFolder);
});
afterAll(() => fs.rmSync(nextFolder, { recursive: true, force: true }));

let desk: Desk;
let env: Record<string, string>;
/** The last migration before the upgrade. */
let from: string;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
  expect(await desk.rasket(['init', '--data', 'data'], { env })).toMatchObject({ code: 0 });
  from = await inDatabase(loadLastMigration);
  installNext();
});
afterEach(() => desk.clear());

/** Makes the next version the program that the desk runs as a process. */
function installNext(): void {
  fs.rmSync(desk.at('path/rasket'));
  fs.symlinkSync(nextProgram, desk.at('path/rasket'));
}

const log = createLog({ level: 'silent', format: 'json' });

const loadLastMigration = async (db: Db): Promise<string> => (await schemaState(db)).done.at(-1) ?? '';

async function inStore<T>(work: (store: Awaited<ReturnType<typeof openStore>>) => Promise<T>): Promise<T> {
  const { config } = loadConfig({ env });
  const store = await openStore({
    config,
    dataDir: desk.at('data'),
    log,
  });
  return work(store).finally(() => closeStore(store));
}

const inDatabase = <T>(work: (db: Db) => Promise<T>): Promise<T> => inStore(({ db }) => work(db));

/** Opens the database whatever its migrations are. */
async function inRawDatabase<T>(work: (db: Db) => Promise<T>): Promise<T> {
  const { database } = loadConfig({ env }).config;
  const file = desk.at('data/rasket.db');
  const db = await openDb({ driver: database.driver, url: database.url, file, poolMax: 1 });
  return work(db).finally(() => db.close());
}

const run = (words: string[], more: Record<string, string> = {}): Promise<Ended> =>
  desk.run([...words, '--data', 'data'], { env: { ...env, ...more } });

/** Expects every command that changes the database to be refused in one line, and the database to be unchanged. */
async function expectRefused(says: RegExp, more: Record<string, string> = {}): Promise<void> {
  for (const words of [['migrate'], ['teams', 'list'], ['serve']]) {
    const ended = await run(words, { RASKET_HTTP_PORT: '0', ...more });
    // A server writes its log there too.
    expectOneLine({ ...ended, stderr: ended.stderr.replaceAll(/^\{.*\}\n/gm, '') }, says, 65);
  }
  expect((await run(['migrate'], more)).stderr).toMatch(/Nothing was changed$/m);
  expect(await inDatabase(loadLastMigration)).toBe(from);
}

/** Writes the report of a node with the earlier program. */
async function reportOfBefore(db: Db, seenAt: number): Promise<string> {
  const id = randomUUID();
  const columns = ['id', 'name', 'version', 'roles', 'started_at', 'seen_at', 'findings'];
  await db.insertMany('node_reports', columns, [[id, 'mail1 4711', '0.0.9', '["http"]', 0, seenAt, '[]']]);
  return id;
}

const EVENT_COLUMNS = ['id', 'team_id', 'type', 'subject_id', 'created_at'];

const backups = (): string[] => (fs.existsSync(desk.at('data/backups')) ? fs.readdirSync(desk.at('data/backups')) : []);

// skipped because a PostgreSQL database is dumped: below
describe.skipIf(driver === 'pg')('an upgrade of a database that is a file', () => {
  it('makes a backup first, on which the earlier program starts', async () => {
    const done = await run(['migrate']);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    const [name = '', ...more] = backups();
    expect(more).toEqual([]);
    expect(done.stdout.split('\n')[0]).toBe(`backup   ${desk.at('data/backups', name)}`);
    expect(JSON.parse(fs.readFileSync(desk.at('data/backups', name, 'backup.json'), 'utf8'))).toMatchObject({
      reason: 'upgrade',
      schema: from,
    });
    expect((await desk.rasket(['backup', 'verify', desk.at('data/backups', name)])).code).toBe(0);
    expect((await run(['migrate'])).stdout).toBe('The database is up to date.\n');
    expect(backups()).toEqual([name]);
  });

  it('also happens at a start of the server, and repeated attempts share one backup until mail arrives', async () => {
    // Every migration fails when it is written down, which is behind the backup.
    const refusal = "select raise(abort, 'No migration is written down.')";
    await inDatabase((db) => db.run(`create trigger refuse before insert on schema_migrations begin ${refusal}; end`));
    expect((await run(['migrate'])).code).toBe(1);
    expect((await run(['migrate'])).code).toBe(1);
    expect(backups()).toHaveLength(1);
    // The program of before is put back, and mail comes.
    await inStore(({ db, ids, clock }) =>
      db.insertMany('events', EVENT_COLUMNS, [[ids.uuid(), ids.uuid(), 'email.received', ids.uuid(), clock.now()]]),
    );
    // Backups are named by the second.
    const second = (): string => new Date().toISOString().slice(0, 19).replaceAll(':', '-');
    await expect.poll(() => backups()[0]?.includes(second())).toBe(false);
    expect((await run(['migrate'])).code).toBe(1);
    expect((await run(['migrate'])).code).toBe(1);
    expect(backups()).toHaveLength(2);
    await inDatabase((db) => db.run('drop trigger refuse'));
    const server = await desk.serve(['serve', '--data', 'data'], { env });
    await server.stop();
    expect(backups()).toHaveLength(2);
  });

  it('is refused without room for the change and the backup, before anything is written', async () => {
    const file = desk.at('data/rasket.db');
    const { size } = fs.statSync(file);
    // The file gets as large as a file system allows, with next to nothing in it.
    fs.truncateSync(file, 8 * 2 ** 40);
    await expectRefused(/room: 2?\d[\d,]+ MB are needed on the disk of \S+ \([\d,]+ MB of them for a backup\), and/);
    await expectRefused(/room: [\d,]+ MB are needed on the disk of \S+data, and/, { RASKET_UPGRADE_BACKUP: 'false' });
    expect(backups()).toEqual([]);
    fs.truncateSync(file, size);
    expect((await run(['migrate'])).code).toBe(0);
  });

  it('is refused when the backup fails', async () => {
    desk.write('data/backups', 'a file where the folder belongs');
    await expectRefused(/the backup that comes before a change of the database failed: .*rasket migrate --no-backup/);
  });

  it('without a backup is refused when the last one is old, unless it is requested explicitly', async () => {
    const off = { RASKET_UPGRADE_BACKUP: 'false' };
    await expectRefused(/only with a backup of the last 24 hours .* no backup is known; set upgrade\.backup/, off);
    expect((await run(['backup', desk.at('copy')], off)).code).toBe(0);
    expect((await run(['migrate'], off)).code).toBe(0);
    expect(backups()).toEqual([]);
  });

  it('makes no backup with --no-backup', async () => {
    expect((await run(['migrate', '--no-backup'])).code).toBe(0);
    expect(backups()).toEqual([]);
  });
});

// runs only on PostgreSQL
describe.runIf(driver === 'pg')('an upgrade of a database on a server', () => {
  it('requires a backup of the last day, which the operator records', async () => {
    const none = { RASKET_BACKUP_PG_PROGRAMS: desk.at('nowhere') };
    await expectRefused(
      /only with a backup of the last 24 hours .* no backup is known; none is made here: pg_dump is not in \S+ \(backup\.pg_programs\); install .*; or say that another program has: rasket backups note/,
      none,
    );
    env = { ...env, ...none };
    expect((await run(['backups', 'note', '--at', '2020-01-01T00:00:00Z'])).code).toBe(0);
    await expectRefused(/the last backup is of 2020-01-01T00:00:00\.000Z/);
    // Made while a clock was ahead.
    await inStore(({ db, clock }) =>
      noteBackup(db, { madeAt: clock.now() + 86_400_000, folder: null, at: clock.now() }),
    );
    await expectRefused(/the last backup is of 2\S+, which is not yet: a clock was ahead/);
    expect((await run(['backups', 'note'])).code).toBe(0);
    expect((await run(['migrate'])).code).toBe(0);
    expect((await run(['migrate'])).stdout).toBe('The database is up to date.\n');
  });

  it('is refused while a node runs the earlier program, and not when both may run', async () => {
    expect((await run(['backups', 'note'])).code).toBe(0);
    // The node runs a version that does not report the time of the database; its own clock is ten minutes behind.
    const id = await inStore(({ db, clock }) => reportOfBefore(db, clock.now() - 10 * 60_000));
    await expectRefused(
      /mail1 4711 runs version 0\.0\.9 on this database \(heard of \d+ s ago\).*stop all nodes first/,
    );
    // It has ended.
    await inStore((store) => forgetNode(store, id));
    expect((await run(['migrate'])).code).toBe(0);
    await inRawDatabase(async (db) => {
      await db.run('delete from schema_migrations where name = ?', [NEXT_MIGRATION]);
      await db.run('alter table teams drop column nickname');
      await reportOfBefore(db, Date.now());
    });
    expect((await run(['migrate'], { RASKET_UPGRADE_BESIDE_OLD_NODES: 'true' })).code).toBe(0);
  });
});

const hasSystem = fs.existsSync('/usr/lib/postgresql') && spawnSync('pg_dump', ['--version']).status === 0;

// runs only on PostgreSQL, where the system has one with its own programs
describe.runIf(driver === 'pg' && hasSystem)('an upgrade of a database that pg_dump can read', () => {
  let server: Postgres;
  beforeAll(async () => void (server = await startPostgres({ isOfSystem: true })));
  afterAll(() => server.stop());
  beforeEach(async () => {
    fs.rmSync(desk.at('data'), { recursive: true });
    env = { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: (await createDatabase(server.url)).url };
    expect(await desk.rasket(['init', '--data', 'data'], { env })).toMatchObject({ code: 0 });
    from = await inDatabase(loadLastMigration);
  });

  /** The system's own programs, with a pg_dump that does something first. */
  function pgDumpThat(script: string): string {
    const file = desk.write(
      'programs/pg_dump',
      `#!/bin/sh\n[ "$1" = --version ] || { ${script}; }\nexec pg_dump "$@"\n`,
    );
    fs.chmodSync(file, 0o755);
    if (!fs.existsSync(desk.at('programs/pg_restore')))
      fs.writeFileSync(desk.at('programs/pg_restore'), '#!/bin/sh\nexec pg_restore "$@"\n', { mode: 0o755 });
    return desk.at('programs');
  }

  it('makes a backup first, which can be restored into an empty database with the earlier schema', async () => {
    const done = await run(['migrate']);
    expect(done, done.stderr).toMatchObject({ code: 0, stderr: '' });
    const [name = '', ...more] = backups();
    expect(more).toEqual([]);
    const folder = desk.at('data/backups', name);
    expect(done.stdout.split('\n')[0]).toBe(`backup   ${folder}`);
    expect(JSON.parse(fs.readFileSync(path.join(folder, 'backup.json'), 'utf8'))).toMatchObject({
      reason: 'upgrade',
      schema: from,
      database: 'rasket.dump',
    });
    expect((await run(['migrate'])).stdout).toBe('The database is up to date.\n');
    expect(backups()).toEqual([name]);

    const { url } = await createDatabase(server.url);
    const elsewhere = { ...env, RASKET_DATABASE_URL: url };
    const restored = await desk.rasket(['restore', folder, '--data', 'elsewhere'], { env: elsewhere });
    expect(restored, restored.stderr).toMatchObject({ code: 0 });
    const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
    expect(await loadLastMigration(db).finally(() => db.close())).toBe(from);
    const again = await desk.run(['migrate', '--data', 'elsewhere', '--no-backup'], { env: elsewhere });
    expect(again, again.stderr).toMatchObject({ code: 0 });
  });

  it('is refused without room for the backup or when it fails, and makes none on request', async () => {
    const large = desk.write('data/blobs/large', '');
    fs.truncateSync(large, 8 * 2 ** 40);
    await expectRefused(/room: [89][\d,]+ MB are needed on the disk of \S+data for a backup, and/);
    fs.rmSync(large);
    const failing = { RASKET_BACKUP_PG_PROGRAMS: pgDumpThat(`echo 'pg_dump: error: the disk is gone' >&2; exit 1`) };
    await expectRefused(
      /before a change of the database failed: pg_dump: error: the disk is gone\. Mend that/,
      failing,
    );
    expect(backups()).toEqual([]);
    expect((await run(['migrate', '--no-backup'])).code).toBe(0);
    expect(backups()).toEqual([]);
  });

  it('is refused when a node with the earlier program started while the backup was made', async () => {
    const columns = 'id, name, version, roles, started_at, seen_at, findings';
    const now = 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)';
    const node = `'${randomUUID()}', 'mail1 4711', '0.0.9', '["http"]', 0, ${now}, '[]'`;
    desk.write('node.sql', `insert into node_reports (${columns}) values (${node});`);
    const programs = { RASKET_BACKUP_PG_PROGRAMS: pgDumpThat(`psql -qX -f ${desk.at('node.sql')} >&2`) };
    const refused = await run(['migrate'], programs);
    expectOneLine(refused, /mail1 4711 runs version 0\.0\.9 on this database .*Nothing was changed$/m, 65);
    expect(await inDatabase(loadLastMigration)).toBe(from);
    expect(backups()).toHaveLength(1);
  });

  it('is made by one of two nodes that start it together, and the other waits and finds it done', async () => {
    const waits = `touch ${desk.at('begun')}; while [ ! -e ${desk.at('go')} ]; do sleep 0.1; done`;
    const slow = { env: { ...env, RASKET_BACKUP_PG_PROGRAMS: pgDumpThat(waits) } };
    const node = () => desk.start(desk.at('path/rasket'), ['migrate', '--data', 'data'], slow);
    const first = node();
    await vi.waitFor(() => fs.statSync(desk.at('begun')), { timeout: 60_000 });
    const second = node();
    const url = env.RASKET_DATABASE_URL ?? '';
    const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
    const waiting = `select 1 as one from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
    await vi.waitFor(async () => expect(await db.all(waiting)).toHaveLength(1), { timeout: 60_000 });
    await db.close();
    fs.writeFileSync(desk.at('go'), '');
    const one = await first.ended;
    const other = await second.ended;
    expect(one.stdout, one.stderr).toMatch(/^backup .*\napplied/);
    expect(other, other.stderr).toMatchObject({ code: 0, stdout: 'The database is up to date.\n' });
    expect(backups()).toHaveLength(1);
  });
});

describe('a downgrade', () => {
  it('is refused by name in every command, and changes nothing', async () => {
    await inDatabase((db) =>
      db.run(
        "insert into schema_migrations (name, batch, migration_time) values ('9999_from_the_future', 2, current_timestamp)",
      ),
    );
    for (const words of [['migrate'], ['migrate', '--no-backup'], ['serve'], ['teams', 'list']])
      expectOneLine(await run(words), /written by a newer rasket \(it holds the migration 9999_from_the_future\)/, 1);
    expect(backups()).toEqual([]);
    expect(fs.existsSync(path.join(desk.folder, 'data/run/ready.json'))).toBe(false);
  });
});

it('a start refuses in one line when an applied migration is not recorded', async () => {
  expect((await run(['backups', 'note'])).code).toBe(0);
  expect((await run(['migrate'])).code).toBe(0);
  await inRawDatabase((db) => db.run('delete from schema_migrations where name = ?', [from]));
  const line = /schema_migrations of the database lacks 0001_schema, and has later ones .*; restore the database/;
  expectOneLine(await run(['serve'], { RASKET_HTTP_PORT: '0' }), line, 1);
});
