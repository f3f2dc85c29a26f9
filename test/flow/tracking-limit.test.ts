import { expect, it } from 'vitest';
import { createRecordEngagements } from '../../src/features/tracking/record-engagements.ts';
import type { Engagement } from '../../src/features/tracking/engagement.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { engagements, sendHtml, trackingDomain } from './reader.ts';

const config = { tracking: { scheme: 'http' } } as const;

/** An email, and clicks in it that are not recorded yet. */
async function clicksInOne(scene: Scene, count: number): Promise<{ emailId: string; clicks: Engagement[] }> {
  const team = await scene.team();
  const html = '<a href="https://example.com/">x</a>';
  const { id: emailId } = await sendHtml(scene, team, await trackingDomain(scene, team), { html });
  await scene.settled();
  const at = scene.clock.now();
  const clicks = Array.from({ length: count }, (_, n): Engagement => {
    const id = scene.app.world.ids.uuid();
    return { id, at, emailId, ipAddress: '192.0.2.1', userAgent: `Reader ${n}`, link: 'https://example.com/' };
  });
  return { emailId, clicks };
}

it('a recorded click that is read again after a crash counts once towards the maximum of a thousand', async () => {
  await using scene = await startScene({ config });
  const { emailId, clicks } = await clicksInOne(scene, 900);
  await createRecordEngagements(scene.app.world)(clicks.slice(0, 500));
  const afterCrash = createRecordEngagements(scene.app.world);
  for (let from = 0; from < 900; from += 300) await afterCrash(clicks.slice(from, from + 300));
  expect(await engagements(scene, emailId)).toHaveLength(900);
});

it('clicks that a full disk prevented from being recorded count nothing, however often that was tried', async () => {
  await using scene = await startScene({ config });
  const { emailId, clicks } = await clicksInOne(scene, 400);
  const { db } = scene.app.world;
  const { tx } = db;
  let isFull = true;
  db.tx = (work) =>
    tx(async (on) => {
      const result = await work(on);
      if (isFull) throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
      return result;
    });
  const record = createRecordEngagements(scene.app.world);
  for (let tried = 0; tried < 5; tried++) await expect(record(clicks)).rejects.toThrow('full');
  isFull = false;
  await record(clicks);
  expect(await engagements(scene, emailId)).toHaveLength(400);
});

it('a thousand clicks of one email are recorded, and no more', async () => {
  await using scene = await startScene({ config });
  const { emailId, clicks } = await clicksInOne(scene, 1100);
  const record = createRecordEngagements(scene.app.world);
  for (let from = 0; from < 1100; from += 275) await record(clicks.slice(from, from + 275));
  expect(await engagements(scene, emailId)).toHaveLength(1000);
});
