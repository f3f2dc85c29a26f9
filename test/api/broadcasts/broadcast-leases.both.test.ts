import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLeases } from '../../../src/platform/work-loop/index.ts';
import {
  beginBroadcast,
  claimDueBroadcasts,
  failBroadcast,
  finishBroadcast,
  holdBroadcast,
  nextBroadcastAt,
  saveProgress,
} from '../../../src/features/campaigns/broadcasts/leases.store.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDesk, type Desk } from './drafting.ts';

const MINUTE = 60_000;
let scene: Scene;
let desk: Desk;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());
beforeEach(async () => {
  await scene.app.world.db.run("update broadcasts set status = 'canceled' where status <> 'draft'");
  desk = await openDesk(scene);
});

const now = () => scene.clock.now();
const claim = async (owner: string, limit = 10): Promise<string[]> => {
  const rows = await scene.app.world.db.tx((tx) =>
    claimDueBroadcasts(tx, { owner, now: now(), until: now() + MINUTE, limit }),
  );
  return rows.map(({ id }) => id);
};
const sent = (change: object = {}) => desk.make({ send: true, ...change });
const begin = (id: string, owner: string, total = 1000) =>
  scene.app.world.db.tx((tx) => beginBroadcast(tx, { id, owner, at: now(), total }));
const page = (id: string, owner: string, recipients = 500) =>
  scene.app.world.db.tx((tx) =>
    saveProgress(tx, {
      id,
      owner,
      cursorId: scene.app.world.ids.uuid(),
      recipients,
      excluded: 2,
      tracked: { opens: true, clicks: true },
    }),
  );

describe('a claim of broadcasts', () => {
  it('takes queued and due broadcasts in turn, and no draft', async () => {
    await desk.make();
    const later = await sent({ scheduled_at: 'in 2 hours' });
    const soon = await sent({ scheduled_at: 'in 1 hour' });
    scene.clock.advance(MINUTE);
    const queued = await sent();
    expect(await claim('a')).toEqual([queued]);
    scene.clock.advance(60 * MINUTE);
    expect(await claim('b')).toEqual([queued, soon]);
    scene.clock.advance(60 * MINUTE);
    // They take turns: a broadcast without an earlier lease comes before one that has had it.
    expect(await claim('c', 1)).toEqual([later]);
    expect(await claim('c')).toEqual([queued, soon]);
  });

  it('gives each broadcast to one of two concurrent claims', async () => {
    const ids = await Promise.all([sent(), sent(), sent(), sent()]);
    const [a = [], b = []] = await Promise.all([claim('a', 2), claim('b', 4)]);
    expect([...new Set([...a, ...b])].length).toBe(a.length + b.length);
    expect([...a, ...b, ...(await claim('c'))].sort()).toEqual(ids.sort());
  });

  it('lasts while it is renewed, and ends when it is released', async () => {
    const id = await sent();
    await claim('a');
    const { renew, release, releaseAll } = createLeases(scene.app.world.db, 'broadcasts');
    const until = now() + 2 * MINUTE;
    expect(await renew([id], { owner: 'b', now: now(), until: until + 7 * MINUTE })).toEqual(new Set());
    expect(await renew([id], { owner: 'a', now: now(), until })).toEqual(new Set([id]));
    scene.clock.advance(MINUTE);
    expect(await claim('b')).toEqual([]);
    await release(id, 'b');
    expect(await claim('b')).toEqual([]);
    await release(id, 'a');
    expect(await claim('b')).toEqual([id]);
    await releaseAll();
    expect(await claim('c')).toEqual([id]);
  });
});

describe('a page of a broadcast', () => {
  it('is committed while the lease is held, and the last one ends the broadcast', async () => {
    const id = await sent();
    await claim('a');
    expect([await begin(id, 'b'), await begin(id, 'a'), await begin(id, 'a', 5)]).toEqual([false, true, true]);
    expect([await page(id, 'b'), await page(id, 'a'), await page(id, 'a', 300)]).toEqual([false, true, true]);
    expect(await desk.get(id)).toMatchObject({ status: 'sending', recipients: 800, excluded: 4, total: 1000 });
    const finish = (owner: string) => scene.app.world.db.tx((tx) => finishBroadcast(tx, { id, owner, at: now() }));
    expect([await finish('b'), await finish('a'), await finish('a')]).toEqual([false, true, false]);
    expect(await desk.get(id)).toMatchObject({ status: 'sent', sent_at: new Date(now()).toISOString() });
    expect(await claim('c')).toEqual([]);
  });

  it('is refused once the broadcast is canceled, as is any other update', async () => {
    const id = await sent();
    await claim('a');
    await begin(id, 'a');
    await page(id, 'a');
    await desk.call('POST', `/broadcasts/${id}/cancel`);
    const { db } = scene.app.world;
    const at = now();
    expect([
      await page(id, 'a'),
      await begin(id, 'a'),
      await db.tx((tx) => finishBroadcast(tx, { id, owner: 'a', at })),
      await db.tx((tx) => failBroadcast(tx, { id, owner: 'a', reason: 'x', at })),
      await db.tx((tx) => holdBroadcast(tx, { id, owner: 'a', reason: 'x', at })),
    ]).toEqual([false, false, false, false, false]);
    expect(await desk.get(id)).toMatchObject({ status: 'canceled', recipients: 500, held: null });
    expect(await claim('a')).toEqual([]);
  });

  it('is refused once the broadcast is paused, as is any other update, and after a resume until it is claimed again', async () => {
    const id = await sent();
    await claim('a');
    await begin(id, 'a');
    await page(id, 'a');
    expect((await desk.call('POST', `/broadcasts/${id}/pause`)).status).toBe(200);
    const { db } = scene.app.world;
    const at = now();
    const update = async (): Promise<boolean[]> => [
      await page(id, 'a'),
      await begin(id, 'a'),
      await db.tx((tx) => finishBroadcast(tx, { id, owner: 'a', at })),
      await db.tx((tx) => failBroadcast(tx, { id, owner: 'a', reason: 'x', at })),
      await db.tx((tx) => holdBroadcast(tx, { id, owner: 'a', reason: 'x', at })),
    ];
    expect(await update()).toEqual(Array(5).fill(false));
    scene.clock.advance(2 * MINUTE);
    expect([await claim('a'), await nextBroadcastAt(db, now())]).toEqual([[], undefined]);
    expect((await desk.call('POST', `/broadcasts/${id}/resume`)).status).toBe(200);
    expect(await update()).toEqual(Array(5).fill(false));
    expect(await claim('a')).toEqual([id]);
    expect(await page(id, 'a')).toBe(true);
  });

  it('is refused when another process has taken over the broadcast', async () => {
    const id = await sent();
    await claim('a');
    await begin(id, 'a');
    scene.clock.advance(2 * MINUTE);
    expect(await claim('b')).toEqual([id]);
    expect([await page(id, 'a'), await page(id, 'b')]).toEqual([false, true]);
  });
});

describe('a broadcast that ends before its last page', () => {
  it('is not claimed while it is held, until it is resumed', async () => {
    const id = await sent();
    await claim('a');
    await begin(id, 'a');
    await scene.app.world.db.tx((tx) => holdBroadcast(tx, { id, owner: 'a', reason: 'bounces', at: now() }));
    expect(await claim('b')).toEqual([]);
    expect(await desk.get(id)).toMatchObject({ status: 'sending', held: { reason: 'bounces' } });
    await desk.call('POST', `/broadcasts/${id}/resume`);
    expect(await claim('b')).toEqual([id]);
  });

  it('keeps the reason of its failure', async () => {
    const id = await sent();
    await claim('a');
    await scene.app.world.db.tx((tx) => failBroadcast(tx, { id, owner: 'a', reason: 'the domain is gone', at: now() }));
    expect(await desk.get(id)).toMatchObject({ status: 'failed', failed_reason: 'the domain is gone' });
    expect(await claim('b')).toEqual([]);
  });
});
