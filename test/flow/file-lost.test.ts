// rasket.db is deleted, renamed or replaced beside a running server --> nothing more is taken --> what it held goes on from a copy
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startApp, type App } from '../../src/app.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn } from './mail.ts';

vi.setConfig({ testTimeout: 60_000 });

const isSqlite = driver !== 'pg';

async function startHere(): Promise<{ scene: Scene; file: string; start(): Promise<App> }> {
  const scene = await startScene();
  onTestFinished(() => scene.close());
  const { config, clock, dataDir, log } = scene.app.world;
  const file = path.resolve(dataDir, config.database.path);
  const start = async (): Promise<App> => {
    const app = await startApp({ config, dataDir, clock, log, version: '0.0.0-test', roles: ['http'] });
    onTestFinished(() => app.close(0));
    return app;
  };
  return { scene, file, start };
}

const readCopies = (file: string): string[] =>
  readdirSync(path.dirname(file)).filter((name) => name.startsWith(`${path.basename(file)}.rescued-`));

const LOSSES: Readonly<Record<string, (file: string) => void>> = {
  'is deleted': (file) => rmSync(file),
  'is deleted with its log': (file) => ['', '-wal', '-shm'].forEach((end) => rmSync(`${file}${end}`)),
  'is renamed': (file) => renameSync(file, `${file}.old`),
  'is replaced'(file) {
    copyFileSync(file, `${file}.new`);
    renameSync(`${file}.new`, file);
  },
  'loses its log': (file) => rmSync(`${file}-wal`),
};

// runs only with SQLite: PostgreSQL looks after its own files
it.runIf(isSqlite).each(Object.keys(LOSSES))(
  'when the file %s, no mail is accepted, and all accepted mail is delivered from the copy',
  async (loss) => {
    const { scene, file, start } = await startHere();
    const mail = await mailIn(scene);
    const accepted = await mail.send('plain@one.example');
    await scene.app.queue?.idle();

    LOSSES[loss]?.(file);
    const gone = await scene.app.gone;
    expect(gone.message).toMatch(
      /rasket\.db(-wal)? was (deleted or renamed|replaced by another file) beside this server/,
    );
    const [copy, ...others] = readCopies(file);
    expect(others).toEqual([]);
    expect(gone.message).toContain(`(rm -f ${file}-wal ${file}-shm; mv ${path.dirname(file)}/${copy} ${file})`);
    const body = { from: `a@${mail.domain.name}`, to: 'lost@two.example', subject: 'Hello', text: 'It works.' };
    const refused = await scene.api('POST', '/emails', { key: mail.team.key, body });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
    const ready = await scene.api('GET', '/ready');
    expect([ready.status, ready.body.failed]).toEqual([503, ['database']]);
    expect(ready.body.findings).toMatchObject([{ code: 'storage_unwritable', severity: 'error' }]);
    await scene.app.close(0);
    expect(['-wal', '-shm'].filter((end) => existsSync(`${file}${end}`))).toEqual([]);

    // A read of the copy leaves a -wal file next to it, and a copy that was interrupted leaves a .part file.
    for (const end of ['-wal', '.part']) writeFileSync(`${file}.rescued-99991231T000000Z${end}`, '');
    if (!existsSync(file))
      await expect(start()).rejects.toThrow(`rm -f ${file}-wal ${file}-shm; mv ${path.dirname(file)}/${copy} ${file}`);
    renameSync(path.join(path.dirname(file), copy ?? ''), file);
    const app = await start();
    const listed = await createApi(app.http?.url ?? '')('GET', '/emails', { key: mail.team.key });
    expect(listed.body.data).toMatchObject([{ id: accepted, last_event: 'delivered' }]);
  },
);

// runs only with SQLite: PostgreSQL looks after its own files
it.runIf(isSqlite)('a server that stops right after its file was deleted leaves the copy, too', async () => {
  const { scene, file, start } = await startHere();
  const mail = await mailIn(scene);
  const accepted = await mail.send('plain@one.example');
  rmSync(file);
  await scene.app.close(0);
  const [copy] = readCopies(file);
  renameSync(path.join(path.dirname(file), copy ?? ''), file);
  const listed = await createApi((await start()).http?.url ?? '')('GET', '/emails', { key: mail.team.key });
  expect(listed.body.data).toMatchObject([{ id: accepted }]);
});

// runs only with SQLite: PostgreSQL looks after its own files
it.runIf(isSqlite)('the server keeps running, refuses mail and tries again when no copy can be written', async () => {
  const { scene, file, start } = await startHere();
  const mail = await mailIn(scene);
  const accepted = await mail.send('plain@one.example');
  await scene.app.queue?.idle();
  const folder = path.dirname(file);
  renameSync(folder, `${folder}-away`);
  await vi.waitFor(
    () =>
      expect(scene.log.some((line) => line.includes('cannot be written to') && line.includes('do not end'))).toBe(true),
    { timeout: 30_000 },
  );
  const body = { from: `a@${mail.domain.name}`, to: 'lost@two.example', subject: 'Hello', text: 'It works.' };
  expect((await scene.api('POST', '/emails', { key: mail.team.key, body })).status).toBe(503);
  expect(await Promise.race([scene.app.gone, Promise.resolve('it runs')])).toBe('it runs');

  mkdirSync(folder);
  const gone = await scene.app.gone;
  const [copy] = readCopies(file);
  expect(gone.message).toContain(copy);
  await scene.app.close(0);
  // The folder comes back with the log of the old file in it.
  const back = path.join(`${folder}-away`, path.basename(file));
  ['-wal', '-shm'].forEach((end) => rmSync(`${back}${end}`));
  renameSync(path.join(folder, copy ?? ''), back);
  rmSync(folder, { recursive: true });
  renameSync(`${folder}-away`, folder);
  const listed = await createApi((await start()).http?.url ?? '')('GET', '/emails', { key: mail.team.key });
  expect(listed.body.data).toMatchObject([{ id: accepted }]);
});

// runs only with SQLite: PostgreSQL looks after its own files
it.runIf(isSqlite)('a file that is renamed back and forth within a moment counts as the same one', async () => {
  const { scene, file } = await startHere();
  const mail = await mailIn(scene);
  for (const [from, to] of [
    ['', '.away'],
    ['.away', ''],
  ] as const)
    renameSync(`${file}${from}`, `${file}${to}`);
  await mail.send('plain@one.example');
  await scene.app.queue?.idle();
  expect((await scene.api('GET', '/ready')).status).toBe(200);
  await scene.app.close(0);
  expect(readCopies(file)).toEqual([]);
});
