import fs from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isDatabaseSetback, openDb } from '../../src/platform/db/index.ts';
import { parsePostgresUrl } from '../../src/protocol/postgres-url.ts';
import { Desk, expectOneLine } from '../cli/desk.ts';
import { driver, makeDatabase, type TestDatabase } from '../rig/database.ts';

vi.setConfig({ testTimeout: 180_000 });

// runs only with PostgreSQL
describe.runIf(driver === 'pg')('a PostgreSQL on a unix socket', () => {
  let desk: Desk;
  let database: TestDatabase;
  /** Its folder, and the URL of the database without what says where the server is. */
  let socket: { folder: string; port: string; name: string; user: string; password: string };
  beforeEach(async ({ skip }) => {
    desk = new Desk();
    database = await makeDatabase();
    const { username: user, password, pathname } = new URL(database.settings.url);
    const client = new pg.Client({ connectionString: database.settings.url });
    await client.connect();
    const { rows } = await client.query<{ folders: string; port: string }>(
      `select current_setting('unix_socket_directories') as folders, current_setting('port') as port`,
    );
    await client.end();
    const [{ folders = '', port = '' } = {}] = rows;
    const folder = folders.split(',')[0]?.trim() ?? '';
    // A server that RASKET_TEST_PG_URL names may be another machine's, and a path may be too long for a socket.
    if (!fs.existsSync(path.join(folder, `.s.PGSQL.${port}`))) skip('the PostgreSQL of the tests has no socket here');
    socket = { folder, port, name: pathname.slice(1), user, password };
  });
  afterEach(async () => {
    await desk.clear();
    await database.drop();
  });

  it('can be used by every command', async () => {
    const { folder, port, name, user, password } = socket;
    const url = `postgres://${user}:${password}@/${name}?host=${folder}&port=${port}`;
    const env = { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: url };
    const run = (...words: string[]) => desk.rasket([...words, '--data', 'data'], { env });
    expect(await run('init', '--json')).toMatchObject({ code: 0, stderr: '' });
    const server = await desk.serve(['serve', '--data', 'data'], { env });
    await server.stop();
    for (const words of [['migrate'], ['teams', 'list'], ['sweep'], ['rekey']]) {
      expect(await run(...words), words.join(' ')).toMatchObject({ code: 0 });
    }
    expectOneLine(await run('vacuum'), /PostgreSQL/);
    const without = { ...env, RASKET_BACKUP_PG_PROGRAMS: '/nowhere' };
    expectOneLine(await desk.rasket(['backup', 'copy', '--data', 'data'], { env: without }), /pg_dump/);
    expect(await desk.rasket(['config', 'check'], { env })).toMatchObject({ code: 0 });
    const shown = await desk.rasket(['config', 'show'], { env });
    expect(shown.stdout).toContain(`postgres://${user}:***@/${name}?host=${folder}`);
    // The message names the database by its location.
    desk.write('data/instance.key', `${Buffer.alloc(32, 7).toString('base64')}\n`);
    expectOneLine(await run('teams', 'list'), new RegExp(`PostgreSQL database ${name} at ${folder}:${port}`));
  });

  it.each<[string, (its: typeof socket) => string]>([
    [
      'in the query',
      ({ folder, port, name, user, password }) =>
        `postgres:///${name}?host=${folder}&port=${port}&user=${user}&password=${password}`,
    ],
    [
      'encoded, as the host',
      ({ folder, port, name, user, password }) =>
        `postgres://${user}:${password}@${encodeURIComponent(folder)}:${port}/${name}`,
    ],
  ])('can be named %s', async (_, urlOf) => {
    const db = await openDb({ driver: 'pg', url: urlOf(socket), file: '', poolMax: 1 });
    expect(await db.get('select current_database() as name, inet_server_addr() as address')).toEqual({
      name: socket.name,
      address: null,
    });
    await db.close();
    expect(parsePostgresUrl(urlOf(socket))).toMatchObject({
      hosts: [{ host: socket.folder }],
      database: socket.name,
    });
  });

  it('that is missing is reported in one line, and is no defect of a running server', async () => {
    const url = `postgres://${socket.user}@/${socket.name}?host=${desk.folder}`;
    const env = { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: url };
    expectOneLine(
      await desk.rasket(['init', '--data', 'data'], { env }),
      new RegExp(
        `PostgreSQL cannot be reached at ${desk.folder}/\\.s\\.PGSQL\\.5432 \\(ENOENT\\); is it running there\\?`,
      ),
    );
    const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
    const error = await db.all('select 1').catch((fault: unknown) => fault);
    await db.close();
    expect(isDatabaseSetback(error)).toBe(true);
  });
});
