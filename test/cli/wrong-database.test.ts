// A folder whose database settings were lost, swapped or never given: refused before anything is written.
import fs from 'node:fs';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { driver } from '../rig/database.ts';
import { Desk, expectOneLine, type Ended } from './desk.ts';
import { Installation, type Made } from './installation.ts';

vi.setConfig({ testTimeout: 180_000 });

type Env = Record<string, string>;

let installation: Installation;
beforeAll(async () => void (installation = await Installation.make()));
afterAll(() => installation.clear());

let desk: Desk;
let env: Env;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
});
afterEach(() => desk.clear());

const rasket = (words: string[], settings: Env = env): Promise<Ended> =>
  desk.rasket([...words], { env: { RASKET_HTTP_PORT: '0', ...settings } });

/** Makes an installation as `rasket init` does. */
const install = (): Promise<Made> => installation.copyTo(desk, 'data', env);

async function init(data: string, settings: Env): Promise<void> {
  const ended = await rasket(['init', '--data', data], settings);
  expect(ended, ended.stderr).toMatchObject({ code: 0, stderr: '' });
}

async function startsAndStops(data: string, settings: Env = env): Promise<void> {
  const server = await desk.serve(['serve', '--data', data], { env: settings });
  expect(await server.stop(), server.stderr).toMatchObject({ code: 0 });
}

/** A folder of content as a send leaves it. */
function plantBlob(data: string): string {
  const owner = '018bcfe5-6800-7000-8000-0000000000ab';
  return desk.write(`${data}/blobs/ab/${owner}/text`, 'mail that nobody has read');
}

const readFiles = (data: string): string[] =>
  fs
    .readdirSync(desk.at(data), { recursive: true, encoding: 'utf8' })
    .filter((name) => !/^run\/|-(wal|shm)$/.test(name));

const OPERATORS_COMMANDS = [['serve'], ['migrate'], ['teams', 'list'], ['sending', 'off']];

// skipped because with PostgreSQL it would be the same: what a data folder holds is compared with values that tests on both read
const itOnSqlite = it.skipIf(driver === 'pg');

// runs only with PostgreSQL: SQLite knows no other encoding
it.runIf(driver === 'pg')(
  'an installation cannot be created in a database that cannot store every character',
  async () => {
    const { RASKET_DATABASE_URL: url = '' } = env;
    const name = `latin_${process.pid}`;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(`create database ${name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`);
      const latin = new URL(url);
      latin.pathname = name;
      const settings = { ...env, RASKET_DATABASE_URL: latin.href };
      const says = /has the encoding LATIN1, .* createdb --encoding UTF8 --template template0\. Nothing was changed/;
      for (const _ of ['once', 'again']) expectOneLine(await rasket(['init', '--data', 'latin'], settings), says);
    } finally {
      await client.query(`drop database if exists ${name} with (force)`);
      await client.end();
    }
  },
);

describe('an installation', () => {
  it('has one id, sealed in the database, in the data folder and with the blobs', async () => {
    await install();
    const id = fs.readFileSync(desk.at('data/installation.id'), 'utf8');
    expect(id).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(fs.readFileSync(desk.at('data/blobs/installation.id'), 'utf8')).toBe(id);
    const [row] = await query("select value from instance_settings where name = 'installation'");
    expect(row?.value).toMatch(/^"v2\./);
    expect(row?.value).not.toContain(id.trim());
    // Earlier versions let others read it.
    const marks = ['data/installation.id', 'data/blobs/installation.id'].map((name) => desk.at(name));
    for (const mark of marks) fs.chmodSync(mark, 0o644);
    await startsAndStops('data');
    for (const mark of marks)
      expect([fs.readFileSync(mark, 'utf8'), fs.statSync(mark).mode & 0o777]).toEqual([id, 0o600]);
  });

  it('is created only by init, migrate and dev', async () => {
    await install();
    fs.mkdirSync(desk.at('fresh'));
    fs.copyFileSync(desk.at('data/instance.key'), desk.at('fresh/instance.key'));
    const empty = await desk.database('empty');
    for (const words of [['serve'], ['teams', 'list'], ['sending', 'off']]) {
      const refused = await rasket([...words, '--data', 'fresh'], empty);
      expectOneLine(refused, /database .* is empty; create an installation with: rasket init --data .*fresh/);
    }
    expect(readFiles('fresh').filter((name) => name !== 'run')).toEqual(['instance.key']);
    expect(await rasket(['migrate', '--data', 'fresh'], empty)).toMatchObject({ code: 0 });
    expect(fs.existsSync(desk.at('fresh/installation.id'))).toBe(true);
    await startsAndStops('fresh', empty);
  });
});

describe('a data folder with another database', () => {
  it('refuses an empty database next to a marked folder and changes nothing', async () => {
    await install();
    const blob = plantBlob('data');
    const id = fs.readFileSync(desk.at('data/installation.id'), 'utf8').trim();
    const before = readFiles('data');
    for (const words of OPERATORS_COMMANDS) {
      const refused = await rasket([...words, '--data', 'data'], await lostSettings());
      expectOneLine(
        refused,
        new RegExp(
          `is empty, but .*data belongs to installation ${id}: (was the file lost \\(then restore it from a backup\\), or )?were the settings of its`,
        ),
      );
      expect(refused.stderr).toMatch(/RASKET_DATABASE_DRIVER, RASKET_DATABASE_URL, RASKET_DATABASE_PATH, or --config/);
    }
    expect(readFiles('data')).toEqual(before);
    expect(fs.readFileSync(blob, 'utf8')).toBe('mail that nobody has read');
    await startsAndStops('data');
  });

  itOnSqlite('refuses an empty database next to stored mail, with a mark or without', async () => {
    await install();
    plantBlob('data');
    fs.rmSync(desk.at('data/installation.id'));
    fs.rmSync(desk.at('data/blobs/installation.id'));
    const refused = await rasket(['serve', '--data', 'data'], await lostSettings());
    expectOneLine(refused, /is empty, but .*data contains mail content: (was the file lost .*, or )?were the settings/);
    await startsAndStops('data');
  });

  it('refuses the database of another installation by its key', async () => {
    await install();
    const other = await otherDatabase();
    const refused = await rasket(['serve', '--data', 'data'], other);
    expectOneLine(refused, /data\/instance\.key is not the key of the .*database .*: copy the file from a node/);
    const listed = await rasket(['teams', 'list', '--data', 'data'], other);
    expectOneLine(listed, /is not the key of/);
  });

  it('refuses the database of another installation under the same key by its id', async () => {
    await install();
    fs.mkdirSync(desk.at('other'));
    fs.copyFileSync(desk.at('data/instance.key'), desk.at('other/instance.key'));
    const settings = await createDatabase('other');
    await init('other', settings);
    const refused = await rasket(['serve', '--data', 'data'], settings);
    expectOneLine(refused, /belongs to installation [0-9a-f-]{36}, but \S*data to installation [0-9a-f-]{36}/);
  });

  itOnSqlite('detects a wrong instance.key before anything is changed', async () => {
    await install();
    desk.write('data/instance.key', `${Buffer.alloc(32, 9).toString('base64')}\n`);
    for (const words of OPERATORS_COMMANDS) {
      expectOneLine(await rasket([...words, '--data', 'data']), /instance\.key is not the key of the .*database/);
    }
  });

  itOnSqlite.each([['serve'], ['teams', 'list'], ['init'], ['dev']])(
    'says that the key is missing, with its path, for the command %s',
    async (...words) => {
      await install();
      fs.renameSync(desk.at('data/instance.key'), desk.at('kept.key'));
      const refused = await rasket([...words, '--data', 'data']);
      expectOneLine(refused, /data\/instance\.key is missing, but .*data is a data folder that was in use/);
      expect(fs.existsSync(desk.at('data/instance.key'))).toBe(false);
    },
  );

  itOnSqlite('refuses blobs of another installation, and a blob folder that is not mounted', async () => {
    await install();
    fs.renameSync(desk.at('data/blobs'), desk.at('kept'));
    expectOneLine(await rasket(['serve', '--data', 'data']), /blobs is not the folder of installation .*is mounted/);
    desk.write('data/blobs/installation.id', '018bcfe5-6800-7000-8000-0000000000ab\n');
    expectOneLine(
      await rasket(['serve', '--data', 'data']),
      /but .*blobs to installation 018bcfe5-6800-7000-8000-0000000000ab/,
    );
    fs.rmSync(desk.at('data/blobs'), { recursive: true });
    fs.renameSync(desk.at('kept'), desk.at('data/blobs'));
    await startsAndStops('data');
  });
});

describe('an installation of an earlier version', () => {
  /** Restores the state of an earlier version: no id, no marks. */
  async function forget(): Promise<void> {
    await query("delete from instance_settings where name = 'installation'");
    fs.rmSync(desk.at('data/installation.id'), { force: true });
    fs.rmSync(desk.at('data/blobs'), { recursive: true, force: true });
  }

  /** A key of a domain as that version sealed it. */
  const plantKey = (sealed: string): Promise<unknown> =>
    query(`insert into dkim_keys (id, domain_id, selector, algorithm, private_key_sealed, created_at) values
      ('018bcfe5-6800-7000-8000-0000000000cd', '018bcfe5-6800-7000-8000-0000000000ce', 's', 'rsa-sha256', '${sealed}', 0)`);

  it('is adopted by its own key silently, with content or without', async () => {
    await install();
    await forget();
    const blob = plantBlob('data');
    const server = await desk.serve(['serve', '--data', 'data'], { env });
    // The tests' own PostgreSQL syncs nothing, and is told so at the start.
    const said = server.stderr.split('\n').filter((line) => !line.includes('PostgreSQL may lose accepted mail'));
    expect(said.join('\n')).not.toMatch(/installation|for blobs is new|"level":"(?:warn|error)"/);
    await server.stop();
    const id = fs.readFileSync(desk.at('data/installation.id'), 'utf8');
    expect(fs.readFileSync(desk.at('data/blobs/installation.id'), 'utf8')).toBe(id);
    expect(fs.existsSync(blob)).toBe(true);
  });

  itOnSqlite('is adopted when its key opens the sealed values, and refused when it does not', async () => {
    await install();
    await forget();
    desk.write('data/instance.key', `${Buffer.alloc(32, 7).toString('base64')}\n`);
    await plantKey('v1.cIj6SoGKZHJOEgzw.NzgysA2yfyQMuCDG3+o4S0JJ2JM8Kp5Dw/EKn09dQg==');
    expectOneLine(await rasket(['serve', '--data', 'data']), /instance\.key is not the key of/);
    expect(fs.existsSync(desk.at('data/installation.id'))).toBe(false);
    // The same text, sealed for what it is said to be.
    await query(`update dkim_keys set private_key_sealed = '${SEALED_BY_SEVEN}'`);
    await startsAndStops('data');
    expect(fs.existsSync(desk.at('data/installation.id'))).toBe(true);
  });

  itOnSqlite(
    'without a team but with stored mail is taken for the result of a start without its settings',
    async () => {
      await install();
      await forget();
      await query('delete from api_keys');
      await query('delete from team_plans');
      await query('delete from teams');
      plantBlob('data');
      expectOneLine(await rasket(['serve', '--data', 'data']), /has no team, but .*data contains mail content/);
    },
  );
});

// runs only with PostgreSQL, which several nodes share
describe.runIf(driver === 'pg')('another node', () => {
  it('joins with only the key and the shared blobs, also several at once', async () => {
    await install();
    const nodes = ['second', 'third', 'fourth'];
    for (const node of nodes) {
      fs.mkdirSync(desk.at(node));
      fs.copyFileSync(desk.at('data/instance.key'), desk.at(node, 'instance.key'));
      fs.symlinkSync(desk.at('data/blobs'), desk.at(node, 'blobs'));
    }
    const servers = await Promise.all(nodes.map((node) => desk.serve(['serve', '--data', node], { env })));
    for (const node of nodes) {
      expect(fs.readFileSync(desk.at(node, 'installation.id'))).toEqual(
        fs.readFileSync(desk.at('data/installation.id')),
      );
    }
    for (const server of servers) expect(await server.stop()).toMatchObject({ code: 0 });
  });

  it('that keeps its blobs in a folder of its own is refused and changes nothing until it uses the shared one', async () => {
    await install();
    const first = await desk.serve(['serve', '--data', 'data'], { env });
    fs.mkdirSync(desk.at('second'));
    fs.copyFileSync(desk.at('data/instance.key'), desk.at('second/instance.key'));
    const refusal =
      /^rasket: (\S+) is not the folder in which the other nodes of this installation store blobs \(blobs\.store is "files"\): the file (shared-[0-9a-f]{32}) is missing, .*Nothing was changed$/m;
    const serveSecond = () => desk.run(['serve', '--data', 'second'], { env });
    const alone = await serveSecond();
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringMatching(refusal)]);
    expect(fs.readdirSync(desk.at('second')).filter((name) => name !== 'run')).toEqual(['instance.key']);

    // The second folder gets everything but the file that the first one has put there: a copy that looks the same.
    fs.cpSync(desk.at('data/blobs'), desk.at('second/blobs'), { recursive: true });
    for (const name of fs.readdirSync(desk.at('second/blobs')))
      if (name.startsWith('shared-')) fs.rmSync(desk.at('second/blobs', name));
    expect((await serveSecond()).stderr).toMatch(refusal);

    fs.rmSync(desk.at('second/blobs'), { recursive: true });
    fs.symlinkSync(desk.at('data/blobs'), desk.at('second/blobs'));
    const second = await desk.serve(['serve', '--data', 'second'], { env });
    expect(await second.stop()).toMatchObject({ code: 0 });
    expect(await first.stop()).toMatchObject({ code: 0 });
  });

  it('notices at its next start that another node started on a copy of the folder', async () => {
    await install();
    expect(await (await desk.serve(['serve', '--data', 'data'], { env })).stop()).toMatchObject({ code: 0 });
    fs.mkdirSync(desk.at('second'));
    fs.copyFileSync(desk.at('data/instance.key'), desk.at('second/instance.key'));
    fs.cpSync(desk.at('data/blobs'), desk.at('second/blobs'), { recursive: true });
    expect(await (await desk.serve(['serve', '--data', 'second'], { env })).stop()).toMatchObject({ code: 0 });
    const again = await desk.run(['serve', '--data', 'data'], { env });
    expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/blobs\.store is "files"/)]);
  });

  it('continues after the folder was lost, once it is confirmed, and after all of it was moved to another machine', async () => {
    await install();
    expect(await (await desk.serve(['serve', '--data', 'data'], { env })).stop()).toMatchObject({ code: 0 });
    fs.cpSync(desk.at('data'), desk.at('elsewhere'), { recursive: true });
    expect(await (await desk.serve(['serve', '--data', 'elsewhere'], { env })).stop()).toMatchObject({ code: 0 });

    for (const name of fs.readdirSync(desk.at('data/blobs')))
      if (name !== 'installation.id') fs.rmSync(desk.at('data/blobs', name), { recursive: true });
    const refused = await desk.run(['serve', '--data', 'data'], { env });
    expect(refused.code).toBe(1);
    const [, file = ''] = /: touch (\S+)\. Nothing/.exec(refused.stderr) ?? [];
    fs.writeFileSync(file, '');
    expect(await (await desk.serve(['serve', '--data', 'data'], { env })).stop()).toMatchObject({ code: 0 });
  });

  it('that adopts at the same time as another gets the same id', async () => {
    await install();
    await query("delete from instance_settings where name = 'installation'");
    fs.rmSync(desk.at('data/installation.id'));
    fs.rmSync(desk.at('data/blobs'), { recursive: true });
    // A link that leads nowhere is no folder, and either node may be the first.
    fs.mkdirSync(desk.at('data/blobs'), { mode: 0o700 });
    fs.mkdirSync(desk.at('second'));
    fs.copyFileSync(desk.at('data/instance.key'), desk.at('second/instance.key'));
    fs.symlinkSync(desk.at('data/blobs'), desk.at('second/blobs'));
    const nodes = ['data', 'second'];
    const servers = await Promise.all(nodes.map((node) => desk.serve(['serve', '--data', node], { env })));
    const [one, two] = nodes.map((node) => fs.readFileSync(desk.at(node, 'installation.id'), 'utf8'));
    expect(one).toBe(two);
    for (const server of servers) expect(await server.stop()).toMatchObject({ code: 0 });
  });
});

const SEALED_BY_SEVEN = 'v1.sjtrshArXsw/CZmS.f2dr0CG1JnNamQA+/9WXMrAvDq0Dm4lXBhlc1vtovA==';

/** The environment of somebody who has lost the settings: with SQLite another file's name, with PostgreSQL all of it. */
const lostSettings = async (): Promise<Env> => (driver === 'pg' ? {} : { ...env, RASKET_DATABASE_PATH: 'lost.db' });

/** A database of another installation, with a key of its own. */
async function otherDatabase(): Promise<Env> {
  const settings = await createDatabase('other');
  await init('other', settings);
  return settings;
}

async function createDatabase(folder: string): Promise<Env> {
  const made = await desk.database();
  return driver === 'pg' ? made : { ...made, RASKET_DATABASE_PATH: desk.at(folder, 'rasket.db') };
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  if (driver !== 'pg') {
    const db = new Sqlite(desk.at('data/rasket.db'));
    try {
      const statement = db.prepare(sql);
      return statement.reader ? (statement.all() as Record<string, unknown>[]) : (statement.run(), []);
    } finally {
      db.close();
    }
  }
  const client = new pg.Client({ connectionString: env.RASKET_DATABASE_URL });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
