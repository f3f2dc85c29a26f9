import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { trackedHtml, readClick } from '../../src/features/tracking/tracking-links.ts';
import { mailIn } from '../flow/mail.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { Desk, expectOneLine, type Ended } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

const SEALED = [
  "select value as sealed from instance_settings where name = 'installation'",
  'select private_key_sealed as sealed from dkim_keys',
  'select secret_sealed as sealed from webhooks',
];

/** A value in the earlier format, sealed by a key that nobody has. */
const OF_A_LOST_KEY = 'v1.cIj6SoGKZHJOEgzw.NzgysA2yfyQMuCDG3+o4S0JJ2JM8Kp5Dw/EKn09dQg==';

const readLines = (dataDir: string): string[] =>
  fs.readFileSync(path.join(dataDir, 'instance.key'), 'utf8').trim().split('\n');

function rekey(scene: Scene, ...words: string[]): Promise<Ended> {
  const { driver: name, url } = scene.app.world.config.database;
  const env = { RASKET_DATABASE_DRIVER: name, ...(url === '' ? {} : { RASKET_DATABASE_URL: url }) };
  return desk.rasket(['rekey', '--data', scene.dataDir, ...words], { env });
}

/** Two calls with PostgreSQL, where the other nodes are given the key in between. */
async function rekeyWholly(scene: Scene): Promise<string> {
  if (driver === 'pg') {
    const [before, ...former] = readLines(scene.dataDir);
    const prepared = await rekey(scene);
    expect(prepared, prepared.stderr).toMatchObject({ code: 0 });
    expect(prepared.stdout).toMatch(/Copy the file into the data folder of every other node, then run this again/);
    expect(readLines(scene.dataDir)).toEqual([before, expect.stringMatching(/^next /), ...former]);
  }
  const done = await rekey(scene);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  return done.stdout;
}

async function keyIds(scene: Scene): Promise<string[]> {
  const rows = await Promise.all(SEALED.map((sql) => scene.app.world.db.all<{ sealed: string }>(sql)));
  return [...new Set(rows.flat().map(({ sealed }) => /v[12]\.?([0-9a-f]{12})?\./.exec(sealed)?.[1] ?? 'v1'))];
}

describe('rasket rekey', () => {
  it('seals everything again while the server signs, seals and reads old links', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const webhook = await plantWebhook(scene, mail.team);
    const { world } = scene.app;
    const [oldKey] = readLines(scene.dataDir);
    const [oldId] = await keyIds(scene);
    const tracked = { emailId: world.ids.uuid(), domainId: world.ids.uuid() };
    const html = await trackedHtml(
      world,
      { ...tracked, teamId: world.ids.uuid() },
      '<a href="https://example.com/">x</a>',
      { origin: 'https://links.test', opens: false, clicks: true },
    );
    const token = /\/c\/([^"]+)"/.exec(html)?.[1] ?? '';

    expect(await rekeyWholly(scene)).toMatch(/\d+ values were encrypted again\. Back up/);
    expect(readLines(scene.dataDir)).toEqual([expect.any(String), `former ${oldKey}`]);
    const ids = await keyIds(scene);
    expect(ids).toHaveLength(1);
    expect(ids).not.toContain(oldId);

    const later = await mailIn(scene);
    const sent = [await mail.send('x@one.example'), await later.send('y@one.example')];
    await scene.settled();
    for (const [n, team] of [mail, later].entries()) {
      expect(await team.account(sent[n] ?? '')).toMatchObject({ state: 'delivered' });
    }
    const read = await scene.api('GET', `/webhooks/${webhook}`, { key: mail.team.key });
    expect(read.body.signing_secret).toMatch(/^whsec_\*{4}.{4}$/);
    expect(readClick(world, token)).toEqual({ ...tracked, target: 'https://example.com/' });
    expect(await keyIds(scene)).toEqual(ids);
    await scene.restart();
    expect(readClick(scene.app.world, token)).toEqual({ ...tracked, target: 'https://example.com/' });

    await scene.app.close(0);
    expect(await rekey(scene, '--forget-former')).toMatchObject({ code: 0 });
    expect(readLines(scene.dataDir)).toHaveLength(1);
    await scene.restart();
    expect(readClick(scene.app.world, token)).toBeUndefined();
    const again = await mail.send('z@one.example');
    await scene.settled();
    expect(await mail.account(again)).toMatchObject({ state: 'delivered' });
  });

  it('continues after a kill, reads the earlier format, and loses nothing that it cannot read', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const { db } = scene.app.world;
    const webhook = await plantWebhook(scene, mail.team);
    const broken = await plantWebhook(scene, mail.team);
    await db.run(`update webhooks set secret_sealed = 'v1.x' where id = ?`, [broken]);
    // This is the state when the process was killed right after it had put the new key into the file.
    const file = path.join(scene.dataDir, 'instance.key');
    const [oldKey] = readLines(scene.dataDir);
    fs.writeFileSync(file, `${Buffer.alloc(32, 3).toString('base64')}\nformer ${oldKey}\n`);
    const before = await keyIds(scene);
    const done = await rekey(scene);
    expect(done, done.stderr).toMatchObject({ code: 0 });
    expect(done.stdout).toMatch(/1 values could not be decrypted with any key and were not changed/);
    expect(readLines(scene.dataDir)).toEqual([Buffer.alloc(32, 3).toString('base64'), `former ${oldKey}`]);
    const [row] = await db.all<{ secret_sealed: string }>('select secret_sealed from webhooks where id = ?', [broken]);
    expect(row?.secret_sealed).toBe('v1.x');
    expect((await keyIds(scene)).filter((id) => before.includes(id))).toEqual(['v1']);
    const read = await scene.api('GET', `/webhooks/${webhook}`, { key: mail.team.key });
    expect(read.body.signing_secret).toMatch(/^whsec_\*{4}.{4}$/);
    await scene.app.close(0);
    expect(await rekey(scene, '--forget-former')).toMatchObject({ code: 0 });
    await scene.restart();
  });

  it('creates a new key also when an earlier version has sealed values, and again when it is repeated', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const id = await plantWebhook(scene, await scene.team());
    await scene.app.world.db.run('update webhooks set secret_sealed = ?', [OF_A_LOST_KEY]);
    const [first] = readLines(scene.dataDir);
    await rekeyWholly(scene);
    const [second] = readLines(scene.dataDir);
    await rekeyWholly(scene);
    const [third, ...former] = readLines(scene.dataDir);
    expect(new Set([first, second, third]).size).toBe(3);
    expect(former).toEqual([`former ${second}`, `former ${first}`]);
    const row = await scene.app.world.db.get('select secret_sealed from webhooks where id = ?', [id]);
    expect(row?.secret_sealed).toBe(OF_A_LOST_KEY);
  });

  // runs only with PostgreSQL, which several nodes share
  it.runIf(driver === 'pg')(
    'lets a node with the next key follow by itself, and refuses the start of a node without it',
    async () => {
      await using scene = await startScene({ roles: ['http'] });
      const mail = await mailIn(scene);
      const env = { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: scene.app.world.config.database.url };
      for (const node of ['given', 'missed']) {
        fs.mkdirSync(desk.at(node));
        fs.copyFileSync(path.join(scene.dataDir, 'instance.key'), desk.at(node, 'instance.key'));
        fs.symlinkSync(path.join(scene.dataDir, 'blobs'), desk.at(node, 'blobs'));
      }
      expect(await rekey(scene)).toMatchObject({ code: 0 });
      fs.copyFileSync(path.join(scene.dataDir, 'instance.key'), desk.at('given/instance.key'));
      const given = await desk.serve(['serve', '--data', 'given'], { env });
      expect(await rekey(scene)).toMatchObject({ code: 0 });
      const ids = await keyIds(scene);
      const read = await desk.rasket([
        'domains',
        'get',
        mail.domain.name,
        '--url',
        given.url,
        '--api-key',
        mail.team.key,
      ]);
      expect(read, read.stderr).toMatchObject({ code: 0 });
      expect(await given.stop()).toMatchObject({ code: 0 });
      const again = await desk.serve(['serve', '--data', 'given'], { env });
      const made = await desk.rasket([
        'domains',
        'create',
        'new.example.com',
        '--url',
        again.url,
        '--api-key',
        mail.team.key,
      ]);
      expect(made, made.stderr).toMatchObject({ code: 0 });
      expect(await keyIds(scene)).toEqual(ids);
      expect(await again.stop()).toMatchObject({ code: 0 });
      const missed = await desk.rasket(['serve', '--data', 'missed'], { env: { ...env, RASKET_HTTP_PORT: '0' } });
      expectOneLine(
        missed,
        /missed\/instance\.key is not the key of the PostgreSQL database .*: copy the file from a node/,
      );
    },
  );
});
