import { existsSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeSlot } from '../../src/flow/sweep/index.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR, mailIn, SECOND } from './mail.ts';

describe('the sweep', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  const run = async (name: string): Promise<unknown> => scene.app.jobs.find((job) => job.name === name)?.run();
  const folderOf = (owner: string): string => path.join(scene.dataDir, 'blobs', owner.slice(-2), owner);

  /** As if the folder had not been touched for so long. */
  function age(owner: string, ms: number): void {
    const at = new Date(scene.clock.now() - ms);
    utimesSync(folderOf(owner), at, at);
  }

  it('forgets an idempotency key when its day is over and not before', async () => {
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
    const [young, old] = [ids.uuid(), ids.uuid()];
    await blobs.put(`${young}/html`, Buffer.from('young'));
    await blobs.put(`${old}/html`, Buffer.from('old'));
    age(young, 23 * HOUR);
    age(old, 25 * HOUR);
    expect(await run('remove-orphan-blobs')).toBe(1);
    expect([existsSync(folderOf(young)), existsSync(folderOf(old))]).toEqual([true, false]);
    await blobs.remove(young);
  });

  it('keeps the blobs of mail that is still to be sent, however old they are', async () => {
    const mail = await mailIn(scene);
    const content = Buffer.from('kept').toString('base64');
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

  it('runs once in a slot, whoever asks and in whatever order', async () => {
    const { db } = scene.app.world;
    const taken = await Promise.all([takeSlot(db, 'a job', 7), takeSlot(db, 'a job', 7), takeSlot(db, 'another', 7)]);
    expect(taken.filter(Boolean)).toHaveLength(2);
    expect([await takeSlot(db, 'a job', 6), await takeSlot(db, 'a job', 8)]).toEqual([false, true]);
  });
});
