// rasket backup, backups, backup verify, and the backup that the service makes by itself
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { backUpOnSchedule } from '../../src/features/installation/backups/take-backup.ts';
import { SEALED_COLUMNS } from '../../src/sealed-columns.ts';
import { mailIn } from '../flow/mail.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { Desk, expectOneLine, type Ended } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

const DAY = 86_400_000;
const NOBODY = 65_534;

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

/** Mail that stands in files, and keys that are sealed. */
async function sceneWithMail(config: object = {}): Promise<Scene> {
  const scene = await startScene({ roles: ['http', 'scheduler'], config });
  const mail = await mailIn(scene);
  for (const letter of ['x', 'y'])
    await mail.send(`${letter}@one.example`, { html: `<p>${letter.repeat(400_000)}</p>` });
  return scene;
}

const verify = (folder: string, ...more: string[]): Promise<Ended> =>
  desk.rasket(['backup', 'verify', folder, ...more], { env: {} });

/** Changes one byte in the middle of a file. */
function flip(file: string, at = Math.floor(fs.statSync(file).size / 2)): void {
  const bytes = fs.readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 0x01;
  fs.writeFileSync(file, bytes);
}

const blobsIn = (folder: string): string[] =>
  fs
    .readdirSync(path.join(folder, 'blobs'), { recursive: true, encoding: 'utf8' })
    .map((name) => `blobs/${name}`)
    .filter((name) => name.endsWith('/html'))
    .sort();

// skipped because a PostgreSQL database is backed up there
describe.skipIf(driver === 'pg')('rasket backup verify', () => {
  it('names content that was damaged before the backup, although its copy is exact', async () => {
    await using scene = await sceneWithMail();
    const [damaged = ''] = blobsIn(scene.dataDir);
    flip(path.join(scene.dataDir, damaged));
    const says = `${damaged} is not the content that was stored: it was damaged before the backup was made`;
    // The backup is complete for everything else.
    const made = await desk.rasket(['backup', 'copy', '--data', scene.dataDir]);
    expect(made).toMatchObject({ code: 0, stderr: `${says}\n` });
    const seen = await verify('copy');
    expect(seen.code).not.toBe(0);
    expect(seen.stdout + seen.stderr).toContain(says);
  });

  it('damaged content that a scheduled backup reads becomes a finding', async () => {
    await using scene = await sceneWithMail();
    const [damaged = ''] = blobsIn(scene.dataDir);
    flip(path.join(scene.dataDir, damaged));
    const { world } = scene.app;
    expect(await backUpOnSchedule(world, { sealed: SEALED_COLUMNS })).toMatchObject({ removed: 0 });
    const key = await scene.operator();
    const damage = async (): Promise<unknown> =>
      (await scene.api('GET', '/operator/findings', { key })).body.findings.filter(
        ({ code }: { code: string }) => code === 'content_damaged',
      );
    await expect.poll(damage).toMatchObject([{ subjects: [path.join(scene.dataDir, damaged)] }]);
  });

  it('reads the whole backup, and names what was damaged since', async () => {
    await using scene = await sceneWithMail();
    expect(await desk.rasket(['backup', 'copy', '--data', scene.dataDir])).toMatchObject({ code: 0, stderr: '' });
    const whole = desk.at('copy');
    const before = fs.readdirSync(whole).sort();
    const seen = await verify('copy');
    expect(seen).toMatchObject({ code: 0, stderr: '' });
    expect(seen.stdout).toMatch(/^\S+\/copy is undamaged: .*\n$/);
    expect(fs.readdirSync(whole).sort(), 'no log of SQLite beside it').toEqual(before);
    expect((await desk.sh('sha256sum --check --quiet SHA256SUMS', { cwd: whole })).code).toBe(0);

    const [blob = ''] = blobsIn(whole);
    const sealed = SEALED_COLUMNS.find(({ table }) => table === 'dkim_keys');
    const damages: { says: RegExp; plant: (folder: string) => void }[] = [
      { says: new RegExp(`${blob} is damaged`), plant: (at) => flip(path.join(at, blob)) },
      { says: new RegExp(`${blob} is missing`), plant: (at) => fs.rmSync(path.join(at, blob)) },
      { says: /rasket\.db is damaged/, plant: (at) => flip(path.join(at, 'rasket.db')) },
      { says: /rasket\.db cannot be read/, plant: (at) => fs.truncateSync(path.join(at, 'rasket.db'), 5000) },
      { says: /instance\.key (is damaged|cannot be read)/, plant: (at) => flip(path.join(at, 'instance.key'), 3) },
      { says: /backup\.json is missing or damaged/, plant: (at) => fs.rmSync(path.join(at, 'backup.json')) },
      { says: /SHA256SUMS is missing/, plant: (at) => fs.rmSync(path.join(at, 'SHA256SUMS')) },
      { says: /extra is no file of this backup/, plant: (at) => fs.writeFileSync(path.join(at, 'extra'), '') },
      { says: /rows of emails, and had 2/, plant: (at) => sql(at, 'delete from emails') },
      {
        says: /instance\.key does not open dkim_keys\.\w+ of/,
        plant: (at) => sql(at, `update dkim_keys set ${sealed?.column} = 'v2.000000000000.AAAA'`),
      },
    ];
    for (const [n, { says, plant }] of damages.entries()) {
      const folder = desk.at(`damaged-${n}`);
      fs.cpSync(whole, folder, { recursive: true });
      plant(folder);
      const told = await verify(`damaged-${n}`);
      expect(told, `${says}`).toMatchObject({ code: 1, stdout: '' });
      expect(told.stderr).toMatch(says);
      expect(told.stderr).toMatch(/^rasket: \S+ is not whole:\n/);
      const json = await verify(`damaged-${n}`, '--json');
      expect(JSON.parse(json.stdout).faults.join('\n')).toMatch(says);
    }
  });

  it('follows no planted link, does not wait for a planted pipe, and names them', async () => {
    await using scene = await sceneWithMail();
    expect((await desk.rasket(['backup', 'copy', '--data', scene.dataDir])).code).toBe(0);
    const [blob = ''] = blobsIn(desk.at('copy'));
    const elsewhere = desk.write('elsewhere', 'of root');
    const plants: { name: string; plant: (at: string) => void }[] = [
      { name: blob, plant: (at) => fs.symlinkSync(elsewhere, at) },
      { name: 'rasket.db', plant: (at) => fs.symlinkSync(elsewhere, at) },
      { name: 'blobs', plant: (at) => fs.symlinkSync(desk.folder, at) },
      { name: 'instance.key', plant: (at) => execFileSync('mkfifo', [at]) },
      { name: 'SHA256SUMS', plant: (at) => fs.symlinkSync(elsewhere, at) },
    ];
    for (const [n, { name, plant }] of plants.entries()) {
      const folder = desk.at(`planted-${n}`);
      fs.cpSync(desk.at('copy'), folder, { recursive: true });
      fs.rmSync(path.join(folder, name), { recursive: true });
      plant(path.join(folder, name));
      const told = await verify(folder);
      expect(told).toMatchObject({ code: 1 });
      expect(told.stderr, name).toContain(
        `${name} is a link or a device, and no file of a backup: nothing of it was read`,
      );
    }
    // The record of the verification is not written through a link either.
    fs.symlinkSync(elsewhere, desk.at('copy/verification.json.part'));
    await verify('copy');
    expect(fs.readFileSync(elsewhere, 'utf8')).toBe('of root');
  });

  // runs only as root, who alone can become another account
  it.runIf(process.getuid?.() === 0)(
    'reads a folder as the account that could replace it when root runs it',
    async () => {
      await using scene = await sceneWithMail();
      expect((await desk.rasket(['backup', 'secret/copy', '--data', scene.dataDir])).code).toBe(0);
      fs.chmodSync(desk.at('secret'), 0o700);
      fs.chmodSync(desk.folder, 0o755);
      fs.mkdirSync(desk.at('kept'));
      fs.chownSync(desk.at('kept'), NOBODY, NOBODY);
      fs.symlinkSync(desk.at('secret/copy'), desk.at('kept/planted'));
      const args = ['backup', 'verify', desk.at('kept/planted')];
      const told = await desk.start(desk.at('path/rasket'), args, { env: {} }).ended;
      expect(told.code).not.toBe(0);
      expect(told.stderr).toMatch(/cannot be read or written by the account|belongs to another account/);
      expect(fs.readdirSync(desk.at('secret/copy'))).toEqual(expect.arrayContaining(['SHA256SUMS']));
      const mine = await desk.start(desk.at('path/rasket'), ['backup', 'verify', desk.at('secret/copy')], { env: {} })
        .ended;
      expect(mine, mine.stderr).toMatchObject({ code: 0 });
    },
  );

  it('reports a folder that is not a backup', async () => {
    expectOneLine(await verify('nowhere'), /does not exist/, 66);
    fs.mkdirSync(desk.at('empty'));
    expect((await verify('empty')).stderr).toMatch(/SHA256SUMS is missing.*\n.*backup\.json is missing/);
  });
});

function sql(folder: string, statement: string): void {
  const db = new Sqlite(path.join(folder, 'rasket.db'));
  db.exec(statement);
  db.close();
}

// skipped because a PostgreSQL database is backed up there
describe.skipIf(driver === 'pg')('rasket restore', () => {
  it('continues after an interruption, and does not take a folder with other files for empty', async () => {
    await using scene = await sceneWithMail();
    expect((await desk.rasket(['backup', 'copy', '--data', scene.dataDir])).code).toBe(0);
    const restore = (): Promise<Ended> => desk.rasket(['restore', 'copy', '--data', 'data'], { env: {} });
    // A kill leaves this: the key under its temporary name, and some of the rest.
    const key = fs.readFileSync(desk.at('copy/instance.key'));
    desk.write('data/instance.key.restoring', key);
    desk.write('data/rasket.db', 'half of it');
    for (const words of [['serve'], ['teams', 'list'], ['init']])
      expectOneLine(
        await desk.rasket([...words, '--data', 'data'], { env: {} }),
        /data is an incomplete restore; complete it with: rasket restore FOLDER --data \S+data$/m,
      );
    expect(await restore()).toMatchObject({ code: 0, stderr: '' });
    const names = fs.readdirSync(desk.at('data'));
    expect(names).toEqual(expect.arrayContaining(['instance.key', 'rasket.db', 'blobs']));
    expect(names).not.toContain('instance.key.restoring');
    expectOneLine(await restore(), /data has files in it; move it aside first/);
    expect((await desk.rasket(['teams', 'list', '--data', 'data'], { env: {} })).code).toBe(0);

    fs.rmSync(desk.at('data'), { recursive: true });
    desk.write('data/instance.key.restoring', key.subarray(0, 10));
    const file = desk.write('data/of-somebody', '');
    expectOneLine(await restore(), /data has files in it/);
    fs.rmSync(file);
    expect((await restore()).code, 'it was killed while the key was written').toBe(0);
  });

  it('refuses a data folder within the backup, and a backup within the content it copies', async () => {
    await using scene = await sceneWithMail();
    expect((await desk.rasket(['backup', 'copy', '--data', scene.dataDir])).code).toBe(0);
    fs.symlinkSync(desk.at('copy'), desk.at('link'));
    for (const data of ['copy/data', 'link/far/data', 'copy/blobs/data']) {
      const ended = await desk.rasket(['restore', 'copy', '--data', data], { env: {} });
      expectOneLine(ended, /data lies in the backup, which would be whole no more; name another folder$/m);
    }
    expect((await desk.rasket(['backup', 'verify', 'copy'])).code).toBe(0);
    fs.symlinkSync(path.join(scene.dataDir, 'blobs'), desk.at('content'));
    const ended = await desk.rasket(['backup', 'content/far/copy', '--data', scene.dataDir]);
    expectOneLine(ended, /content\/far\/copy lies in \S+blobs, which is copied; name another folder$/m);
    expect(fs.existsSync(desk.at('content/far'))).toBe(false);
    // A name that begins alike is another folder.
    expect((await desk.rasket(['restore', 'copy', '--data', 'copy-restored'], { env: {} })).code).toBe(0);
  });

  // runs only as root, whose folder it is
  it.runIf(process.getuid?.() === 0)('takes a new file system with only lost+found for empty', async () => {
    await using scene = await sceneWithMail();
    expect((await desk.rasket(['backup', 'copy', '--data', scene.dataDir])).code).toBe(0);
    const restore = (): Promise<Ended> => desk.rasket(['restore', 'copy', '--data', 'data'], { env: {} });
    fs.mkdirSync(desk.at('data/lost+found'), { recursive: true, mode: 0o700 });
    fs.chownSync(desk.at('data/lost+found'), NOBODY, NOBODY);
    expectOneLine(await restore(), /data has files in it/);
    fs.chownSync(desk.at('data/lost+found'), 0, 0);
    const found = desk.write('data/lost+found/#12', 'of fsck');
    expectOneLine(await restore(), /data has files in it/);
    fs.rmSync(found);
    expect(await restore()).toMatchObject({ code: 0, stderr: '' });
    expect(fs.readdirSync(desk.at('data'))).toContain('lost+found');
  });
});

// skipped because a PostgreSQL database is backed up there
describe.skipIf(driver === 'pg')('a scheduled backup', () => {
  it('is made and read again, and older ones are removed, except those of another installation', async () => {
    await using scene = await sceneWithMail({ backup: { schedule: '03:30', keep: 2, directory: 'kept' } });
    const kept = path.join(scene.dataDir, 'kept');
    const job = scene.app.jobs.find(({ name }) => name === 'back-up');
    expect(job).toMatchObject({ schedule: '30 3 * * *' });
    const folders: string[] = [];
    for (let day = 0; day < 4; day++) {
      // Its schedule does not run it too.
      scene.clock.step(DAY);
      const done = (await job?.run()) as { folder: string; removed: number };
      folders.push(path.basename(done.folder));
      expect(done.removed).toBe(day < 2 ? 0 : 1);
      // The folder also gets a backup of another installation, one made by hand, and folders of processes that were killed.
      if (day === 0) {
        fs.cpSync(path.join(kept, folders[0] ?? ''), path.join(kept, 'rasket-2020-01-01T00-00-00Z'), {
          recursive: true,
        });
        rewrite(path.join(kept, 'rasket-2020-01-01T00-00-00Z/backup.json'), { installation: 'another' });
        fs.cpSync(path.join(kept, folders[0] ?? ''), path.join(kept, 'by-hand'), { recursive: true });
        const own = fs.readFileSync(path.join(scene.dataDir, 'installation.id'), 'utf8').trim();
        fs.mkdirSync(path.join(kept, `rasket-2020-01-02T00-00-00Z.${own}.part`));
        fs.mkdirSync(path.join(kept, 'rasket-2020-01-02T00-00-00Z.another.part'));
      }
    }
    expect(fs.readdirSync(kept).sort()).toEqual([
      'by-hand',
      'rasket-2020-01-01T00-00-00Z',
      'rasket-2020-01-02T00-00-00Z.another.part',
      ...folders.slice(-2),
    ]);
    const listed = await desk.rasket(['backups', 'list', kept, '--data', scene.dataDir, '--json']);
    // The list needs no installation, since one may have to be restored.
    const elsewhere = { env: { RASKET_DATA: desk.at('nothing-here') } };
    expect(await desk.rasket(['backups', 'list', kept, '--json'], elsewhere)).toEqual(listed);
    expectOneLine(await desk.rasket(['backups', 'list', desk.at('none')], elsewhere), /none does not exist; give/, 66);
    const rows = JSON.parse(listed.stdout) as {
      folder: string;
      bytes: number;
      verified_at: string;
      faults: string[];
    }[];
    expect(rows.map(({ folder }) => path.basename(folder)).slice(0, 2)).toEqual(folders.slice(-2).reverse());
    expect(rows[0]).toMatchObject({ reason: 'schedule', verified_at: expect.any(String), faults: [] });
    expect(rows[0]?.bytes).toBeGreaterThan(800_000);
    expect((await verify(rows[0]?.folder ?? '')).code).toBe(0);
    const shown = await desk.rasket(['backups', 'list', kept, '--data', scene.dataDir]);
    expect(shown.stdout).toMatch(/MADE\s+AGE\s+SIZE\s+VERIFIED\s+REASON\s+FOLDER/);
  });

  it('that fails is a finding and a log line, removes nothing, and its finding ends with the next success', async () => {
    await using scene = await sceneWithMail({ backup: { schedule: '03:30', keep: 1, directory: 'kept' } });
    const token = await scene.operator();
    const codes = async (): Promise<string[]> => (await findings(scene, token)).map(({ code }) => code);
    const run = () => backUpOnSchedule(scene.app.world, { sealed: SEALED_COLUMNS });
    expect(await codes()).not.toContain('backup_old');
    const first = await run();
    expect(await codes()).toEqual(await withoutBackups(codes));

    scene.clock.advance(37 * 3_600_000);
    expect(await codes()).toContain('backup_old');
    await scene.app.jobs.find(({ name }) => name === 'watch-backups')?.run();
    expect(scene.log.join('\n')).toContain('the last backup is too old');

    // A file in the place of the folder stands for a disk that is gone.
    fs.renameSync(path.join(scene.dataDir, 'kept'), path.join(scene.dataDir, 'aside'));
    fs.writeFileSync(path.join(scene.dataDir, 'kept'), '');
    expect(await run()).toBeUndefined();
    expect(scene.log.join('\n')).toContain('backup failed');
    const [failed] = (await findings(scene, token)).filter(({ code }) => code === 'backup_failed');
    expect(failed).toMatchObject({ severity: 'error', advice: { command: 'rasket backups' } });
    expect(failed?.summary).toMatch(/A backup failed: .*kept.*The last one was made at 2/);
    const ready = await scene.api('GET', '/ready');
    expect(JSON.stringify(ready.body)).not.toContain('kept');

    fs.rmSync(path.join(scene.dataDir, 'kept'));
    fs.renameSync(path.join(scene.dataDir, 'aside'), path.join(scene.dataDir, 'kept'));
    expect(fs.existsSync(first?.folder ?? '')).toBe(true);
    scene.clock.advance(1000);
    expect(await run()).toMatchObject({ removed: 1 });
    expect(fs.existsSync(first?.folder ?? '')).toBe(false);
    expect(await codes()).toEqual(await withoutBackups(codes));
  });

  it('does not count backups from a clock that was ahead, and removes neither them nor newer ones', async () => {
    await using scene = await sceneWithMail({ backup: { schedule: '03:30', keep: 1, directory: 'kept' } });
    const kept = path.join(scene.dataDir, 'kept');
    const run = () => backUpOnSchedule(scene.app.world, { sealed: SEALED_COLUMNS });
    const first = await run();
    // This backup was made while the clock was years ahead.
    const ahead = path.join(kept, 'rasket-2099-01-01T00-00-00Z');
    fs.cpSync(first?.folder ?? '', ahead, { recursive: true });
    rewrite(path.join(ahead, 'backup.json'), { made_at: '2099-01-01T00:00:00.000Z' });
    scene.clock.advance(DAY);
    const second = await run();
    expect(second).toMatchObject({ removed: 1 });
    expect(fs.readdirSync(kept).sort()).toEqual([path.basename(second?.folder ?? ''), path.basename(ahead)]);
  });

  it('that is incomplete removes no earlier one', async () => {
    await using scene = await sceneWithMail({ backup: { schedule: '03:30', keep: 1, directory: 'kept' } });
    const run = () => backUpOnSchedule(scene.app.world, { sealed: SEALED_COLUMNS });
    const first = await run();
    scene.clock.advance(DAY);
    // A secret that no key opens is in every backup from now on.
    await scene.app.world.db.run("update dkim_keys set private_key_sealed = 'v2.000000000000.AAAA'");
    expect(await run()).toBeUndefined();
    expect(fs.existsSync(first?.folder ?? '')).toBe(true);
    expect(scene.log.join('\n')).toMatch(/is not whole: instance\.key does not open dkim_keys/);
  });
});

interface Told {
  code: string;
  severity: string;
  summary: string;
}

const findings = async (scene: Scene, key: string): Promise<Told[]> =>
  (await scene.api('GET', '/operator/findings', { key })).body.findings;

const withoutBackups = async (codes: () => Promise<string[]>): Promise<string[]> =>
  (await codes()).filter((code) => !code.startsWith('backup'));

function rewrite(file: string, change: object): void {
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), ...change }));
}

describe('rasket backups', () => {
  it('says how to make one when there is none', async () => {
    const env = await desk.database();
    expect(await desk.rasket(['init', '--data', 'data'], { env })).toMatchObject({ code: 0 });
    const listed = await desk.rasket(['backups', '--data', 'data', '--json'], { env });
    expect(listed).toMatchObject({ code: 0, stdout: '[]\n' });
  });

  it('note records a backup of another program, which may not lie in the future', async () => {
    const env = await desk.database();
    expect(await desk.rasket(['init', '--data', 'data'], { env })).toMatchObject({ code: 0 });
    const note = (...more: string[]): Promise<Ended> =>
      desk.rasket(['backups', 'note', '--data', 'data', ...more], { env });
    expect((await note('--at', '2026-01-02T03:04:05Z')).stdout).toBe(
      'The last backup of this installation was made at 2026-01-02T03:04:05.000Z.\n',
    );
    expect((await note()).code).toBe(0);
    for (const at of ['tomorrow', '2999-01-01T00:00:00Z'])
      expectOneLine(await note('--at', at), /--at must be a time in the past/, 64);
  });
});
