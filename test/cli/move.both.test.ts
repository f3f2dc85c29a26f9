// an installation with mail, stopped --> rasket migrate-to-sqlite, migrate-to-postgres --> the same rows and answers, and nothing sent twice
import fs from 'node:fs';
import { afterEach, beforeEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import pg from 'pg';
import { startApp, type App } from '../../src/app.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { openDb, openPgPresence, type Db } from '../../src/platform/db/index.ts';
import { noteLeaving, noteMoved } from '../../src/tenancy/instance/index.ts';
import { HOUR, mailIn } from '../flow/mail.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { createDatabase, dropDatabase } from '../rig/database-server.ts';
import { createInbox } from '../rig/inboxes.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { Desk, expectOneLine, type Ended, type Running } from './desk.ts';

vi.setConfig({ testTimeout: 300_000 });

type Env = Record<string, string>;

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

async function emptyDatabase(): Promise<string> {
  const { name, url } = await createDatabase(inject('pgUrl'));
  onTestFinished(() => dropDatabase(inject('pgUrl'), name));
  return url;
}

const onPg = (url: string): Env => ({ RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: url });
const onSqlite = (path = 'rasket.db'): Env => ({ RASKET_DATABASE_PATH: path });

const rasket = (words: string[], env: Env = {}): Promise<Ended> => desk.rasket([...words, '--data', 'data'], { env });

async function works(words: string[], env: Env = {}): Promise<string> {
  const ended = await rasket(words, env);
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  return ended.stdout;
}

/** The exit status of a command whose database is out of use: the unit does not start it again. */
const OUT_OF_USE = 65;

/** Makes an installation on SQLite. */
const init = (): Promise<string> => works(['init']);

/** A clear refusal of the move; what it copied so far is told before. */
async function isRefused(words: string[], env: Env, says: RegExp, code = 1): Promise<void> {
  const ended = await rasket(words, env);
  expect(ended.code, ended.stdout).toBe(code);
  expect(ended.stderr.split('\n').at(-2)).toMatch(says);
  expect(ended.stderr).not.toMatch(/^\s+at /m);
}

/** The scene's installation with another database, at the same time and with the same mail servers. */
async function startOn(scene: Scene, database: Partial<Config['database']>): Promise<App> {
  const { config, clock, log } = scene.app.world;
  const settings = { ...config, database: { ...config.database, ...database } };
  const roles = ['http', 'delivery'] as const;
  const app = await startApp({ config: settings, dataDir: scene.dataDir, clock, log, version: '0.0.0-test', roles });
  onTestFinished(() => app.close(0));
  return app;
}

async function fetchAnswers(app: App, asked: readonly (readonly [path: string, key: string])[]): Promise<unknown[]> {
  const api = createApi(app.http?.url ?? '');
  const answers: unknown[] = [];
  for (const [path, key] of asked) {
    const { status, body } = await api('GET', path, { key });
    expect([path, status]).toEqual([path, 200]);
    answers.push([path, body]);
  }
  return answers;
}

// runs only with PostgreSQL, because that is at one end of every move
describe.skipIf(driver !== 'pg')('an installation with mail', () => {
  it('behaves the same on SQLite and on PostgreSQL again after moves, and sends scheduled mail once', async () => {
    const scene = await startScene();
    onTestFinished(() => scene.close());
    const mail = await mailIn(scene);
    const { key } = mail.team;
    const inbox = await createInbox(scene, mail.team);
    await inbox.receive({ subject: 'Where is my order', text: 'It is ✉ late.' });
    const large = 'x'.repeat(40_000);
    const attachment = { filename: 'a.bin', content: Buffer.alloc(400_000, 7).toString('base64') };
    const sent = await mail.send('ada@one.example', {
      subject: 'Sent',
      html: `<p>${large}</p>`,
      attachments: [attachment],
    });
    await scene.api('POST', '/templates', {
      key,
      body: { name: 'Welcome', html: '<p>Hello {{{NAME}}}</p>', subject: 'Hi' },
    });
    await scene.api('POST', '/contacts', { key, body: { email: 'reader@one.example', first_name: 'Zoë' } });
    await scene.settled();
    const at = new Date(scene.clock.now() + HOUR).toISOString();
    const scheduled = await mail.send('later@one.example', { subject: 'Scheduled', scheduled_at: at });
    const operator = await scene.operator();
    const asked = [
      '/emails',
      '/emails?search=sched',
      `/emails/${sent}`,
      `/emails/${sent}/events`,
      `/emails/${sent}/attempts`,
      `/emails/${scheduled}`,
      '/templates',
      '/contacts',
      '/emails/receiving',
      '/inboxes',
      `/inboxes/${inbox.id}/threads`,
      `/inboxes/${inbox.id}/threads/search?query=order`,
      '/domains',
    ].map((path) => [path, key] as const);
    const all = [...asked, [`/operator/queue/emails/${scheduled}`, operator] as const];
    const before = await fetchAnswers(scene.app, all);

    const { url } = scene.app.world.config.database;
    await isRefusedAt(
      scene,
      ['migrate-to-sqlite'],
      onPg(url),
      /other connections? of rasket (is|are) open to .*; stop all nodes and commands first\. They are: "rasket( listener)?" from 127\.0\.0\.1, open for \d+ (s|min) \(\d+\).* pg_terminate_backend\(pid\) from unnest\(array\[\d+[\d, ]*\]\) as pid\. Nothing was changed$/,
    );
    await scene.app.close(0);
    const there = await moved(scene, ['migrate-to-sqlite'], onPg(url));
    expect(there).toMatch(/rows of \d+ tables were copied and compared/);
    expect(there).toMatch(/[2-9] contents were found, [1-9]\d* of them as files/);
    const embedded = await startOn(scene, { driver: 'better-sqlite3', url: '' });
    expect(await fetchAnswers(embedded, all)).toEqual(before);
    await embedded.close(0);

    const second = await emptyDatabase();
    await moved(scene, ['migrate-to-postgres', '--to', second], {});
    const app = await startOn(scene, { url: second });
    expect(await fetchAnswers(app, all)).toEqual(before);
    scene.clock.advance(HOUR + 1000);
    await vi.waitFor(() => expect(arrivals(scene)).toContain('later@one.example'));
    await app.queue?.idle();
    expect(arrivals(scene)).toEqual(['ada@one.example', 'later@one.example']);
    for (const database of [{ url }, { driver: 'better-sqlite3' as const, url: '' }])
      await expect(startOn(scene, database)).rejects.toThrow(/this database was moved to .* is kept unchanged since/);
  });
});

const arrivals = (scene: Scene): string[] => scene.sink.messages.flatMap(({ rcptTo }) => rcptTo).sort();

async function moved(scene: Scene, words: string[], env: Env): Promise<string> {
  const ended = await desk.rasket([...words, '--data', scene.dataDir], { env });
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  return ended.stdout;
}

async function isRefusedAt(scene: Scene, words: string[], env: Env, says: RegExp): Promise<void> {
  const ended = await desk.rasket([...words, '--data', scene.dataDir], { env });
  expect(ended.code, ended.stdout).toBe(1);
  expect(ended.stderr.split('\n').at(-2)).toMatch(says);
}

async function plantTeams(file: string, count: number): Promise<void> {
  const db = await openDb({ driver: 'better-sqlite3', file, url: '', poolMax: 1 });
  const rows = Array.from({ length: count }, (_, n) => {
    const id = `018bcfe5-6800-7000-8000-${String(n).padStart(12, '0')}`;
    return [id, `Team ${n}`, `planted-${n}`, 'normal', 'standard', n];
  });
  await db.insertMany('teams', ['id', 'name', 'slug', 'risk_state', 'plan_code', 'created_at'], rows);
  await db.close();
}

// runs only with PostgreSQL, because that is at one end of every move
describe.skipIf(driver !== 'pg')('a killed move between databases', () => {
  it('starts again, whenever it was killed, and until then only one database can be used', async () => {
    await init();
    await plantTeams(desk.at('data/rasket.db'), 6000);
    const url = await emptyDatabase();
    const words = ['migrate-to-postgres', '--to', url, '--data', 'data'];
    for (const phase of ['copying', 'verifying', 'reading contents', 'indexing']) {
      const running = desk.start(desk.at('path/rasket'), words);
      await killAt(running, phase);
      await isRefused(
        ['teams', 'list'],
        onPg(url),
        /this database is an unfinished copy of .*rasket\.db; finish it with/,
        OUT_OF_USE,
      );
      await works(['teams', 'list']);
    }
    expect(await works(['migrate-to-postgres', '--to', url])).toMatch(/^6,\d{3} rows of \d+ tables/);
    const listed = await works(['teams', 'list', '--json'], onPg(url));
    expect(listed.match(/"planted-\d+"/g)).toHaveLength(6000);
    await isRefused(['teams', 'list'], {}, /was moved to postgres:/, OUT_OF_USE);
  });
});

async function killAt(running: Running, phase: string): Promise<void> {
  await vi.waitFor(() => expect(running.stderr).toMatch(new RegExp(`^${phase}`, 'm')), {
    timeout: 60_000,
    interval: 5,
  });
  running.kill('SIGKILL');
  expect((await running.ended).code).toBe(null);
}

// runs only with PostgreSQL, because that is at one end of every move
describe.skipIf(driver !== 'pg')('a move between databases', () => {
  it('is refused when the target is not empty, missing or not accessible, and changes nothing', async () => {
    await init();
    const url = await emptyDatabase();
    const move = ['migrate-to-postgres', '--to', url];
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('create table somebodys (id integer)');
    await isRefused(move, {}, /is not empty: it has the table somebodys\. Choose an empty database/);
    await client.query('drop table somebodys');
    const other = new Desk();
    onTestFinished(() => other.clear());
    expect((await other.rasket(['init', '--data', 'data'], { env: onPg(url) })).code).toBe(0);
    await isRefused(move, {}, /is not empty: it has \d+ rows? of /);
    await client.end();

    const wrong = new URL(url);
    wrong.password = 'wrong';
    await isRefused(
      ['migrate-to-postgres', '--to', wrong.href],
      {},
      /PostgreSQL refused: password authentication failed.*; correct the password in the URL of the database/,
    );
    const forgotten = new URL(url);
    forgotten.password = '';
    for (const env of [{}, { PGPASSWORD: '' }] as Env[])
      expectOneLine(
        await rasket(['migrate-to-postgres', '--to', forgotten.href], env),
        /PostgreSQL requires a password, but none was given; put it into the URL of the database/,
        1,
      );
    const nowhere = new URL(url);
    nowhere.port = '1';
    await isRefused(['migrate-to-postgres', '--to', nowhere.href], {}, /PostgreSQL cannot be reached at 127\.0\.0\.1/);
    expectOneLine(await rasket(['migrate-to-postgres', '--to', 'mysql://x']), /--to must be postgres:\/\//, 1);
    expectOneLine(await rasket(['migrate-to-sqlite']), /the settings already point to SQLite/, 1);
    await works(['teams', 'list']);
  });

  it('is refused while the server runs, and only counts with --dry-run', async () => {
    await init();
    const url = await emptyDatabase();
    const server = await desk.serve(['serve', '--data', 'data']);
    await isRefused(
      ['migrate-to-postgres', '--to', url],
      {},
      /another rasket process \(\d+\) is using .*; stop it first/,
    );
    expect(await works(['migrate-to-postgres', '--to', url, '--dry-run'])).toMatch(
      /\d+ rows, \d+ MB, from .* about \d+ s\. The server needs \d+ MB.* Nothing was changed\.\n$/,
    );
    await server.stop();
    const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
    expect(await db.all("select 1 as one from pg_tables where schemaname = 'public'")).toEqual([]);
    await db.close();
  });

  it('can be undone until the copy was used, and changes the settings with their comments kept', async () => {
    await init();
    const url = await emptyDatabase();
    const file = desk.write('rasket.toml', '# Ours.\n[database]\n# Where it is.\ndriver = "better-sqlite3" # so far\n');
    fs.chmodSync(file, 0o600);
    const move = ['migrate-to-postgres', '--to', url, '--config', 'rasket.toml', '--write-config'];
    expect(await works(move)).toMatch(/rasket\.toml now points to the new database\./);
    expect(fs.readFileSync(file, 'utf8')).toMatch(
      /^# Ours\.\n\[database\]\n# Where it is\.\ndriver = "pg" # so far\nurl = "postgres:[^\n]+"\n$/,
    );
    expect(await works([...move, '--undo'])).toMatch(/rasket\.db is in use again.*toml points to .*rasket\.db; start/);
    expect(fs.readFileSync(file, 'utf8')).toContain('driver = "better-sqlite3" # so far');
    await works(['teams', 'list'], onSqlite());
    await isRefused(['teams', 'list'], onPg(url), /unfinished copy/, OUT_OF_USE);
    await works(move);
    await works(['teams', 'list', '--config', 'rasket.toml']);
    await isRefused([...move, '--undo'], {}, /is not an unused copy of .*. Data that was added after its first use/);
  });

  it('that is repeated after its end only writes the settings', async () => {
    await init();
    const url = await emptyDatabase();
    const file = desk.write('rasket.toml', '[database]\ndriver = "better-sqlite3"\n');
    fs.chmodSync(file, 0o600);
    const move = ['migrate-to-postgres', '--to', url, '--config', 'rasket.toml'];
    await works(move);
    await isRefused(move, {}, /the move was already made: .* by hand or with --write-config/);
    const before = fs.readFileSync(file);
    expect(JSON.parse(await works([...move, '--write-config', '--json']))).toMatchObject({ was_moved_before: true });
    fs.writeFileSync(file, before);
    expect(await works([...move, '--write-config'])).toMatch(/ already in .*rasket\.toml now points to it\.\n$/);
    await works(['teams', 'list', '--config', 'rasket.toml']);
  });

  it('to a folder or to a file with other content is refused and leaves it unchanged', async () => {
    const url = await emptyDatabase();
    await works(['init'], onPg(url));
    desk.write('data/notes.txt', 'not a database');
    await isRefused(
      ['migrate-to-sqlite', '--to', 'notes.txt'],
      onPg(url),
      /notes\.txt is not an SQLite database\. Choose a new/,
    );
    await isRefused(['migrate-to-sqlite', '--to', 'blobs'], onPg(url), /blobs is a folder\. Choose a new file/);
    expect(fs.readFileSync(desk.at('data/notes.txt'), 'utf8')).toBe('not a database');
  });

  it('makes a running server report why it stops, and exit so that it is not restarted', async () => {
    await init();
    const url = await emptyDatabase();
    await works(['migrate-to-postgres', '--to', url]);
    const server = await desk.serve(['serve', '--data', 'data'], { env: onPg(url) });
    await moveAway(url);
    const ended = await server.ended;
    expect([ended.code, ended.stderr]).toEqual([
      OUT_OF_USE,
      expect.stringMatching(/^rasket: this database was moved to the file new\.db \(.*\); this node stops$/m),
    ]);
  });

  it('runs the command of a finding once, even when it kills the server', async () => {
    await init();
    const url = await emptyDatabase();
    await works(['migrate-to-postgres', '--to', url]);
    const program = desk.at('page');
    const told = desk.at('told');
    desk.write('page', `#!/bin/sh\n{ cat; echo; } >> '${told}'\nkill -9 "$PPID"\n`);
    fs.chmodSync(program, 0o700);
    desk.write('rasket.toml', `[doctor]\nnotify_command = ["${program}"]\n`);
    const words = ['serve', '--data', 'data', '--config', 'rasket.toml'];
    const server = await desk.serve(words, { env: onPg(url) });
    await moveAway(url);
    await server.ended;
    await vi.waitFor(() => expect(readLines(told)).toHaveLength(1));
    expect(JSON.parse(readLines(told)[0] ?? '')).toMatchObject({ data: { appeared: [{ code: 'database_moved' }] } });
    const again = await desk.run(words, { env: onPg(url) });
    expect(again.code, again.stderr).toBe(OUT_OF_USE);
    expect(readLines(told)).toHaveLength(1);
  });

  it('is not ended by another command, which says that it should be repeated', async () => {
    await init();
    const url = await emptyDatabase();
    await works(['migrate-to-postgres', '--to', url]);
    await works(['teams', 'list'], onPg(url));
    const endMove = await openPgPresence(url, 'rasket-move-1');
    onTestFinished(endMove);
    await onDatabase(url, (db) => noteLeaving(db, LEAVING, async () => undefined));
    await isRefused(
      ['teams', 'list'],
      onPg(url),
      /^rasket: this database is being moved to the file new\.db .*; try again then$/,
      75,
    );
    await endMove();
    await vi.waitFor(() => works(['teams', 'list'], onPg(url)), { timeout: 60_000 });
  });
});

const LEAVING = { state: 'leaving' as const, installation: 'x', other: 'the file new.db', at: 1_700_000_000_000 };

const readLines = (file: string): string[] =>
  fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : [];

async function onDatabase(url: string, work: (db: Db) => Promise<unknown>): Promise<void> {
  const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
  await work(db).finally(() => db.close());
}

/** Leaves the database as the end of a move does. */
const moveAway = (url: string): Promise<void> =>
  onDatabase(url, (db) =>
    db.tx(async (tx) => {
      await noteLeaving({ ...db, tx: (work) => work(tx) }, LEAVING, async () => undefined);
      await noteMoved(tx, LEAVING, Date.now());
    }),
  );
