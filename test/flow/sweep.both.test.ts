import { copyFileSync, existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeSlot } from '../../src/ports/cron/cron-runs.store.ts';
import { sweepBlobs } from '../../src/features/installation/upkeep/remove-orphan-blobs.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR, mailIn, SECOND } from './mail.ts';

describe('the daily sweep', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  const run = async (name: string): Promise<unknown> => scene.app.jobs.find((job) => job.name === name)?.run();
  const locateFolder = (owner: string): string => path.join(scene.dataDir, 'blobs', owner.slice(-2), owner);

  /** Makes the folder look untouched for so long. */
  function age(owner: string, ms: number): void {
    const at = new Date(scene.clock.now() - ms);
    utimesSync(locateFolder(owner), at, at);
  }

  it('removes an idempotency key after 24 hours and not before', async () => {
    const mail = await mailIn(scene);
    const body = { from: `a@${mail.domain.name}`, to: ['x@one.example'], subject: 'Once', text: 'Once.' };
    const headers = { 'idempotency-key': 'once' };
    const post = async (): Promise<string> =>
      (await scene.api('POST', '/emails', { key: mail.team.key, body, headers })).body.id as string;
    const first = await post();
    scene.clock.advance(24 * HOUR - SECOND);
    expect(await run('forget-idempotency-keys')).toBe(0);
    expect(await post()).toBe(first);
    scene.clock.advance(SECOND);
    expect(await run('forget-idempotency-keys')).toBe(1);
    await scene.settled();
  });

  it('removes the blobs of a send that was never committed, when they are a day old', async () => {
    const { blobs, ids } = scene.app.world;
    const young = ids.uuid();
    const old = ids.uuid();
    await blobs.put(`${young}/html`, Buffer.from('young'));
    await blobs.put(`${old}/html`, Buffer.from('old'));
    age(young, 23 * HOUR);
    age(old, 25 * HOUR);
    expect(await run('remove-orphan-blobs')).toBe(1);
    expect([existsSync(locateFolder(young)), existsSync(locateFolder(old))]).toEqual([true, false]);
    await blobs.remove(young);
  });

  const inADay = (): string => new Date(scene.clock.now() + 24 * HOUR).toISOString();

  it('removes nothing when more blobs are unused than a crash leaves, reports that once, and continues on request', async () => {
    const { blobs, ids } = scene.app.world;
    const owners = Array.from({ length: 101 }, () => ids.uuid());
    await blobs.putAll(owners.map((owner) => ({ key: `${owner}/html`, content: Buffer.from('x') })));
    for (const owner of owners) age(owner, 25 * HOUR);
    const said = scene.log.length;
    expect(await run('remove-orphan-blobs')).toBe(0);
    expect(owners.every((owner) => existsSync(locateFolder(owner)))).toBe(true);
    const lines = scene.log.slice(said).filter((line) => line.includes('no blobs were removed'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'error', looked: 101, orphans: 101 });

    expect(await sweepBlobs(scene.app.world, { remove: false })).toEqual({ looked: 101, orphans: 101, removed: 0 });
    // There are few enough orphans now, and they are still most of what there is.
    await blobs.remove(owners.pop() ?? '');
    expect(await run('remove-orphan-blobs')).toBe(0);
    const mail = await mailIn(scene);
    const kept = await Promise.all(
      Array.from({ length: 100 }, () => mail.send('x@one.example', { scheduled_at: inADay() })),
    );
    await blobs.putAll(kept.map((id) => ({ key: `${id}/html`, content: Buffer.from('x') })));
    for (const id of kept) age(id, 25 * HOUR);
    expect(await run('remove-orphan-blobs')).toBe(100);
    await Promise.all(kept.map((id) => blobs.remove(id)));
    expect(await sweepBlobs(scene.app.world, { remove: true })).toEqual({ looked: 0, orphans: 0, removed: 0 });
  });

  it('removes nothing while the folders have the mark of another installation, or none', async () => {
    const { blobs, ids } = scene.app.world;
    const owner = ids.uuid();
    await blobs.put(`${owner}/html`, Buffer.from('x'));
    age(owner, 25 * HOUR);
    for (const folder of ['.', 'blobs']) {
      const mark = path.join(scene.dataDir, folder, 'installation.id');
      const right = readFileSync(mark);
      writeFileSync(mark, `${ids.uuid()}\n`);
      await expect(run('remove-orphan-blobs')).rejects.toThrow(/belongs to installation .* but .* to installation/);
      await expect(sweepBlobs(scene.app.world, { remove: true })).rejects.toThrow(/belongs to installation/);
      writeFileSync(mark, right);
    }
    rmSync(path.join(scene.dataDir, 'blobs/installation.id'));
    await expect(run('remove-orphan-blobs')).rejects.toThrow(/check that its file system is mounted/);
    copyFileSync(path.join(scene.dataDir, 'installation.id'), path.join(scene.dataDir, 'blobs/installation.id'));
    expect(existsSync(locateFolder(owner))).toBe(true);
    expect(await run('remove-orphan-blobs')).toBe(1);
  });

  it('keeps the blobs of mail that is still to be sent, however old they are', async () => {
    const mail = await mailIn(scene);
    const content = Buffer.alloc(300_000, 'kept').toString('base64');
    const id = await mail.send('x@one.example', {
      scheduled_at: new Date(scene.clock.now() + 48 * HOUR).toISOString(),
      attachments: [{ filename: 'kept.txt', content }],
    });
    age(id, 47 * HOUR);
    expect(await run('remove-orphan-blobs')).toBe(0);
    scene.clock.advance(48 * HOUR);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['x@one.example'] });
  });

  it('runs once in a time slot, whoever requests it and in whatever order', async () => {
    const { db } = scene.app.world;
    const take = (job: string, slot: number): Promise<boolean> => takeSlot(db, job, { slot, latest: 12 });
    const taken = await Promise.all([take('a job', 7), take('a job', 7), take('another', 7)]);
    expect(taken.filter(Boolean)).toHaveLength(2);
    expect([await take('a job', 6), await take('a job', 8)]).toEqual([false, true]);
  });
});
