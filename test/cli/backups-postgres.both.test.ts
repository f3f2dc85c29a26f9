// rasket backup, backup verify, restore and the backup by schedule of an installation on PostgreSQL
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startApp } from '../../src/app.ts';
import { migrate, openDb } from '../../src/platform/db/index.ts';
import { createInstanceKey } from '../../src/platform/secrets/index.ts';
import { createSendSwitch, setSending } from '../../src/tenancy/instance/index.ts';
import { backUpOnSchedule, takeBackup } from '../../src/features/installation/backups/take-backup.ts';
import { SEALED_COLUMNS } from '../../src/sealed-columns.ts';
import { HOUR, mailIn } from '../flow/mail.ts';
import { createDatabase } from '../rig/database-server.ts';
import { driver } from '../rig/database.ts';
import { startPostgres, type Postgres } from '../rig/pg.ts';
import { startScene, type Scene, type SceneOptions } from '../rig/scene.ts';
import { Desk, expectOneLine, type Ended } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

const DAY = 24 * HOUR;

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

/** A folder with a pg_dump that does as the script says. */
function pgDumpThat(script: string): string {
  const file = desk.write('programs/pg_dump', `#!/bin/sh\n${script}\n`);
  fs.chmodSync(file, 0o755);
  return path.dirname(file);
}

const SAYS_VERSION = `[ "$1" = --version ] && { echo 'pg_dump (PostgreSQL) 99.1 (Test)'; exit; }`;

/** Waits until pg_dump has written its process id, and returns it. */
const pidThere = (): Promise<number> =>
  vi.waitFor(() => {
    const pid = Number(fs.readFileSync(desk.at('pid'), 'utf8').trim());
    expect(pid).toBeGreaterThan(0);
    return pid;
  });

const fetchCodes = async (scene: Scene, key: string): Promise<{ code: string; summary: string }[]> =>
  (await scene.api('GET', '/operator/findings', { key })).body.findings;

const buildEnv = ({ app }: Scene): Record<string, string> => {
  const { driver: of, url } = app.world.config.database;
  return { RASKET_DATABASE_DRIVER: of, RASKET_DATABASE_URL: url };
};

const bySchedule = (scene: Scene, stopping?: AbortSignal) =>
  backUpOnSchedule(scene.app.world, { sealed: SEALED_COLUMNS, stopping });

// runs only on PostgreSQL, whatever its version: pg_dump is a stand-in that never gets to write one
describe.runIf(driver === 'pg')('a failed backup of a PostgreSQL database', () => {
  const sceneWith = (programs: string): Promise<Scene> =>
    startScene({
      roles: ['http', 'scheduler'],
      config: {
        backup: { schedule: '03:30', directory: desk.at('kept'), pg_programs: programs },
        doctor: { checks: ['backups'], minutes: 5 },
      },
    });

  /** The look of every five minutes. */
  async function glance(scene: Scene): Promise<void> {
    const job = scene.app.jobs.find(({ name }) => name.startsWith('glance'));
    expect(job).toBeDefined();
    await job?.run();
  }

  const command = (scene: Scene, programs: string): Promise<Ended> =>
    desk.rasket(['backup', 'copy', '--data', scene.dataDir], {
      env: { ...buildEnv(scene), RASKET_BACKUP_PG_PROGRAMS: programs },
    });

  it('is reported in one line, in the log and as a finding when pg_dump is too old or missing', async () => {
    const old = pgDumpThat(`echo 'pg_dump (PostgreSQL) 9.6.24'`);
    await using scene = await sceneWith(old);
    const token = await scene.operator();
    const says =
      /pg_dump is of version 9\.6\.24 and the server of \d+.*which it cannot read; install .*backup\.pg_programs/;
    expectOneLine(await command(scene, old), says);
    expectOneLine(
      await command(scene, desk.at('nowhere')),
      /pg_dump is not in \S+nowhere \(backup\.pg_programs\); install/,
    );
    expect(fs.existsSync(desk.at('copy'))).toBe(false);
    expect(fs.existsSync(desk.at('copy.part'))).toBe(false);

    // The finding appears before the time of the backup.
    await glance(scene);
    const before = (await fetchCodes(scene, token)).filter(({ code }) => code === 'backup_failed');
    expect(before.map(({ summary }) => summary)).toEqual([
      expect.stringMatching(/^The next backup will fail: pg_dump is of/),
    ]);
    expect(await bySchedule(scene)).toBeUndefined();
    expect(scene.log.join('\n')).toMatch(/backup failed/);
    expect(fs.readdirSync(desk.at('kept'))).toEqual([]);
    // The finding that the next backup will fail ends when it has failed.
    await glance(scene);
    const failed = (await fetchCodes(scene, token)).filter(({ code }) => code === 'backup_failed');
    expect(failed.map(({ summary }) => summary)).toEqual([expect.stringMatching(/^A backup failed: pg_dump is of/)]);
    expect(failed[0]?.summary).toMatch(says);
  });

  it('passes no password in the arguments of pg_dump and none of our secrets, and reports the message of pg_dump', async () => {
    const programs = pgDumpThat(
      `${SAYS_VERSION}\necho "$@" >${desk.at('arguments')}; env >${desk.at('env')}; echo 'pg_dump: error: the disk is gone' >&2; exit 1`,
    );
    await using scene = await sceneWith(programs);
    const ended = await command(scene, programs);
    expectOneLine(ended, /^rasket: pg_dump: error: the disk is gone\n$/);
    const { password } = new URL(scene.app.world.config.database.url);
    const [words, env] = ['arguments', 'env'].map((name) => fs.readFileSync(desk.at(name), 'utf8'));
    expect(words).toMatch(/^--format=custom --no-password --snapshot=\S+ --file=\S+copy\.part\/rasket\.dump\n$/);
    expect(env).toContain(`PGPASSWORD=${password}`);
    expect(env).not.toContain('RASKET_');
    expect(fs.readdirSync(desk.folder)).not.toContain('copy.part');
  });

  it('that was killed leaves a folder that no command accepts as a backup, and the next scheduled one removes it', async () => {
    const programs = pgDumpThat(`${SAYS_VERSION}\necho $$ >${desk.at('pid')}; exec sleep 600`);
    await using scene = await sceneWith(programs);
    const env = { ...buildEnv(scene), RASKET_BACKUP_PG_PROGRAMS: programs };
    const running = desk.start(desk.at('path/rasket'), ['backup', 'kept/copy', '--data', scene.dataDir], { env });
    const pid = await pidThere();
    running.kill('SIGKILL');
    await running.ended;
    process.kill(pid, 'SIGKILL');
    expect(fs.readdirSync(desk.at('kept'))).toEqual(['copy.part']);
    const listed = await desk.rasket(['backups', 'list', desk.at('kept'), '--data', scene.dataDir, '--json'], { env });
    expect(listed.stdout).toBe('[]\n');

    const own = fs.readFileSync(path.join(scene.dataDir, 'installation.id'), 'utf8').trim();
    for (const mark of [own, 'another']) fs.mkdirSync(desk.at(`kept/rasket-2020-01-02T00-00-00Z.${mark}.part`));
    pgDumpThat(`${SAYS_VERSION}\nexit 1`);
    expect(await bySchedule(scene)).toBeUndefined();
    expect(fs.readdirSync(desk.at('kept')).sort()).toEqual(['copy.part', 'rasket-2020-01-02T00-00-00Z.another.part']);
  });

  it('is made by one node at a time, and stops together with its pg_dump', async () => {
    const programs = pgDumpThat(`${SAYS_VERSION}\necho $$ >${desk.at('pid')}; exec sleep 600`);
    await using scene = await sceneWith(programs);
    const stopping = new AbortController();
    const first = bySchedule(scene, stopping.signal);
    const pid = await pidThere();
    const [growing] = fs.readdirSync(desk.at('kept'));
    expect(growing).toMatch(/^rasket-\S+\.part$/);
    await expect(takeBackup(scene.app.world, { reason: 'command', sealed: SEALED_COLUMNS })).rejects.toThrow(
      /another node makes one at this moment/,
    );
    expect(fs.readdirSync(desk.at('kept')), 'that of the other stays').toEqual([growing]);
    stopping.abort();
    expect(await first).toBeUndefined();
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(/ESRCH/), { timeout: 60_000 });
    expect(fs.readdirSync(desk.at('kept'))).toEqual([]);
    // A stop is no failure.
    const token = await scene.operator();
    expect((await fetchCodes(scene, token)).map(({ code }) => code)).not.toContain('backup_failed');
  });
});

/** Reads a dump, and writes none into a database. */
const FAILING_RESTORE = `#!/bin/sh
case "$*" in *--single-transaction*) echo 'pg_restore: error: no room' >&2; exit 1;; esac
exec /usr/bin/pg_restore "$@"
`;

/** Fills the database, and kills the process that has called it. */
const KILLING_RESTORE = `#!/bin/sh
/usr/bin/pg_restore "$@" || exit
case "$*" in *--single-transaction*) kill -9 $PPID;; esac
`;

const hasSystem = fs.existsSync('/usr/lib/postgresql') && spawnSync('pg_dump', ['--version']).status === 0;

// runs only on PostgreSQL, where the system has one with its own programs (those of the tests' server come without pg_dump)
describe.runIf(driver === 'pg' && hasSystem)('a backup of a PostgreSQL database', () => {
  let server: Postgres;
  /** Migrated, beside rows of another program, in a schema of its own: what each scene gets a copy of. */
  let migrated: string;
  beforeAll(async () => {
    server = await startPostgres({ isOfSystem: true });
    const { name, url } = await createDatabase(server.url);
    const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
    await migrate(db);
    await db.run('create schema other');
    await db.run('create table other.emails as select 1 as id');
    await db.close();
    migrated = name;
  });
  afterAll(() => server.stop());

  /** Mail that stands in files, and keys that are sealed. */
  async function sceneWithMail(roles: SceneOptions['roles'] = ['http', 'scheduler']): Promise<Scene> {
    const { url } = await createDatabase(server.url, migrated);
    const config = { backup: { schedule: '03:30', keep: 2, directory: 'kept' } };
    return startScene({ roles, config, through: () => Promise.resolve(url) });
  }

  const large = (letter: string): { html: string } => ({ html: `<p>${letter.repeat(400_000)}</p>` });
  const verify = (folder: string, ...more: string[]): Promise<Ended> =>
    desk.rasket(['backup', 'verify', folder, ...more], { env: {} });

  it('by schedule is complete while mail is accepted, can be restored elsewhere, and sends once it is confirmed', async () => {
    await using scene = await sceneWithMail();
    const mail = await mailIn(scene);
    const before = [await mail.send('before@one.example', large('b')), await mail.send('later@one.example')];
    fs.writeFileSync(path.join(scene.dataDir, 'office.key'), 'of a name server');
    fs.mkdirSync(path.join(scene.dataDir, 'notes'));
    fs.writeFileSync(path.join(scene.dataDir, 'notes/what.txt'), 'whatever');
    let isOver = false;
    let sent = 0;
    const sending = (async () => {
      while (!isOver) await mail.send(`during${sent++}@one.example`, large('d'));
    })();
    // One has been accepted, and the next is on its way.
    await expect.poll(() => sent).toBeGreaterThan(1);
    const taken = await bySchedule(scene);
    isOver = true;
    await sending;
    const folder = taken?.folder ?? '';
    expect(fs.readdirSync(folder).sort()).toEqual([
      'SHA256SUMS',
      'backup.json',
      'blobs',
      'copy-made-at',
      'installation.id',
      'instance.key',
      'office.key',
      'rasket.dump',
      'verification.json',
    ]);
    const facts = JSON.parse(fs.readFileSync(path.join(folder, 'backup.json'), 'utf8'));
    expect(facts).toMatchObject({ database: 'rasket.dump', reason: 'schedule', dump: { namespace: 'public' } });
    expect(facts.not_held).toEqual([path.join(scene.dataDir, 'notes')]);
    const seen = await verify(folder);
    expect(seen, seen.stderr).toMatchObject({ code: 0 });
    await scene.app.close(0);

    const { url } = await createDatabase(server.url);
    const env = { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: url };
    const programs = path.dirname(desk.write('failing/pg_restore', FAILING_RESTORE));
    fs.chmodSync(path.join(programs, 'pg_restore'), 0o755);
    const failed = await desk.rasket(['restore', folder, '--data', 'elsewhere'], {
      env: { ...env, RASKET_BACKUP_PG_PROGRAMS: programs },
    });
    expectOneLine(failed, /^rasket: pg_restore: error: no room\n$/);
    expect(fs.readdirSync(desk.at('elsewhere')), 'it may be tried again').toEqual([]);
    const restored = await desk.rasket(['restore', folder, '--data', 'elsewhere'], { env });
    expect(restored, restored.stderr).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).toMatch(/elsewhere contains the installation as of 2.*rasket sending on\n$/s);
    const { config, clock, log } = scene.app.world;
    const settings = { ...config, database: { ...config.database, url } };
    const dataDir = desk.at('elsewhere');
    const app = await startApp({ config: settings, dataDir, clock, log, version: '0.0.0-test', roles: ['delivery'] });
    try {
      expect(await createSendSwitch(app.world)()).toMatchObject({ isOn: false, isRestored: true });
      await setSending(app.world, { isOn: true });
      scene.clock.advance(HOUR);
      await app.queue?.idle();
      const emails = await app.world.db.all<{ id: string; last_event: string }>('select id, last_event from emails');
      expect(emails.map(({ id }) => id)).toEqual(expect.arrayContaining(before));
      expect(new Set(emails.map((one) => one.last_event))).toEqual(new Set(['delivered']));
      const signed = scene.sink.messages.filter(({ data }) => /^DKIM-Signature:/m.test(data.toString('latin1')));
      expect(signed, 'the key opens what the dump holds').toHaveLength(emails.length);
    } finally {
      await app.close(0);
    }
  });

  it('can be restored again after a kill that follows the database, and never into one that was used since', async () => {
    await using scene = await sceneWithMail();
    const mail = await mailIn(scene);
    await mail.send('x@one.example', large('x'));
    const folder = (await bySchedule(scene))?.folder ?? '';
    const { url } = await createDatabase(server.url);
    const env = { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: url };
    const programs = path.dirname(desk.write('killing/pg_restore', KILLING_RESTORE));
    fs.chmodSync(path.join(programs, 'pg_restore'), 0o755);
    const args = ['restore', folder, '--data', 'elsewhere'];
    const killed = await desk.start(desk.at('path/rasket'), args, {
      env: { ...env, RASKET_BACKUP_PG_PROGRAMS: programs },
    }).ended;
    expect(killed.code).not.toBe(0);
    expect(fs.readdirSync(desk.at('elsewhere'))).toContain('instance.key.restoring');
    expect(fs.existsSync(desk.at('elsewhere/instance.key'))).toBe(false);

    const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
    const used = `insert into instance_settings (name, value) values ('other', '{}')`;
    await db.run(used);
    expectOneLine(await desk.rasket(args, { env }), /tables already, with other rows than the backup; a backup is/);
    await db.run(`delete from instance_settings where name = 'other'`);
    await db.close();
    const restored = await desk.rasket(args, { env });
    expect(restored, restored.stderr).toMatchObject({ code: 0, stderr: '' });
    const names = fs.readdirSync(desk.at('elsewhere'));
    expect(names).toEqual(expect.arrayContaining(['blobs', 'installation.id', 'instance.key']));
    expect(names).not.toContain('instance.key.restoring');
    const listed = await desk.rasket(['teams', 'list', '--data', 'elsewhere', '--json'], { env });
    expect(listed, listed.stderr).toMatchObject({ code: 0 });
    expectOneLine(await desk.rasket(args, { env }), /has files in it; move it aside/);
  });

  it('is verified to the last row with each kind of damage named, and the oldest beyond the number are removed', async () => {
    // This scene has no scheduler, whose own backup of the day would be in progress at the same time.
    await using scene = await sceneWithMail(['http']);
    const mail = await mailIn(scene);
    await mail.send('x@one.example', large('x'));
    const folders: string[] = [];
    for (let day = 0; day < 3; day++) {
      scene.clock.advance(DAY);
      folders.push((await bySchedule(scene))?.folder ?? '');
    }
    expect(fs.readdirSync(path.join(scene.dataDir, 'kept')).sort()).toEqual(
      folders.slice(-2).map((one) => path.basename(one)),
    );
    const whole = folders.at(-1) ?? '';
    const change = (at: string, more: object): void => {
      const file = path.join(at, 'backup.json');
      fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), ...more }));
    };
    const { rows } = JSON.parse(fs.readFileSync(path.join(whole, 'backup.json'), 'utf8'));
    const damages: { says: RegExp; plant: (at: string) => void }[] = [
      { says: /blobs\/\S+\/html is missing/, plant: (at) => fs.rmSync(htmlIn(at)) },
      {
        says: /rasket\.dump cannot be read: pg_restore: error/,
        plant: (at) =>
          fs.truncateSync(path.join(at, 'rasket.dump'), Math.floor(fs.statSync(path.join(at, 'rasket.dump')).size / 2)),
      },
      {
        says: /rasket\.dump has \d+ rows of emails, and had 7/,
        plant: (at) => change(at, { rows: { ...rows, emails: 7 } }),
      },
      { says: /instance\.key does not open|instance\.key cannot be read/, plant: (at) => otherKey(at) },
    ];
    for (const [n, { says, plant }] of damages.entries()) {
      const folder = desk.at(`damaged-${n}`);
      fs.cpSync(whole, folder, { recursive: true });
      plant(folder);
      const told = await verify(folder);
      expect(told, `${says}`).toMatchObject({ code: 1 });
      expect(told.stderr).toMatch(says);
      const env = { ...buildEnv(scene) };
      expect((await desk.rasket(['restore', folder, '--data', 'none'], { env })).code).toBe(1);
      expect(fs.existsSync(desk.at('none'))).toBe(false);
    }
    const env = buildEnv(scene);
    expectOneLine(
      await desk.rasket(['restore', whole, '--data', 'none'], { env }),
      /has \d+ tables already; .*an empty one/,
    );
    expectOneLine(await desk.rasket(['restore', whole, '--data', 'none'], { env: {} }), /is of a PostgreSQL database/);
    expectOneLine(
      await desk.rasket(['restore', whole, '--data', scene.dataDir], { env }),
      /has files in it; move it aside/,
    );
    expect(fs.existsSync(desk.at('none'))).toBe(false);
  });

  it('fails with the names of missing content, except for content that was removed meanwhile', async () => {
    await using scene = await sceneWithMail();
    const mail = await mailIn(scene);
    const id = await mail.send('x@one.example', large('x'));
    await scene.app.world.blobs.remove(id);
    const copied = await desk.rasket(['backup', 'copy', '--data', scene.dataDir], { env: buildEnv(scene) });
    expectOneLine(copied, new RegExp(`rows name content that is not there: ${id}/html \\(email_bodies\\); 1 in all`));
    expect(fs.existsSync(desk.at('copy'))).toBe(false);

    // Retention removes a content between the snapshot and the copy of the content: here while pg_dump is about to begin.
    const second = await mail.send('y@one.example', large('y'));
    await scene.app.world.db.run('delete from email_bodies where email_id = ?', [id]);
    const programs = pgDumpThat(
      `[ "$1" = --version ] || { touch ${desk.at('begun')}; while [ ! -e ${desk.at('go')} ]; do sleep 0.1; done; }\nexec /usr/bin/pg_dump "$@"`,
    );
    fs.symlinkSync('/usr/bin/pg_restore', path.join(programs, 'pg_restore'));
    const env = { ...buildEnv(scene), RASKET_BACKUP_PG_PROGRAMS: programs };
    const running = desk.run(['backup', 'copy', '--data', scene.dataDir], { env });
    await vi.waitFor(() => fs.statSync(desk.at('begun')), { timeout: 60_000 });
    await scene.app.world.db.run('delete from email_bodies where email_id = ?', [second]);
    await scene.app.world.blobs.remove(second);
    fs.writeFileSync(desk.at('go'), '');
    const ended = await running;
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
  });
});

function htmlIn(folder: string): string {
  const [name = ''] = fs
    .readdirSync(path.join(folder, 'blobs'), { recursive: true, encoding: 'utf8' })
    .filter((one) => one.endsWith('/html'));
  return path.join(folder, 'blobs', name);
}

function otherKey(folder: string): void {
  fs.rmSync(path.join(folder, 'instance.key'));
  createInstanceKey(folder);
}
