import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { bringMail, createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

let scene: Scene;
let address: string;
beforeAll(async () => {
  scene = await startScene({
    roles: ['http', 'receiving'],
    config: { receiving: { greylist_minutes: 5, greylist_max: 3 } },
  });
  address = `a@${(await createReceivingDomain(scene, await scene.team())).name}`;
});
afterAll(() => scene.close());
beforeEach(async () => {
  scene.clock.advance(100 * DAY);
  await forget();
});

const forget = async (): Promise<void> => {
  await scene.app.jobs.find(({ name }) => name === 'forget-greylisted')?.run();
};
const raw = 'From: a@example.org\r\nSubject: Hello\r\n\r\nHello\r\n';
const come = (from = 'someone@example.org', to = address) => bringMail(scene, { from, to: [to], raw });
const rows = async (): Promise<number> => {
  const found = await scene.app.world.db.get<{ n: number }>('select count(*) as n from greylist');
  return Number(found?.n);
};

it('greylisting defers an unknown sender, and knows the network after the retry', async () => {
  expect(await come()).toBe('451 4.7.1 Greylisted, because this client is not known yet; try again in 300 seconds');
  scene.clock.advance(4 * MINUTE);
  expect(await come()).toMatch(/^451 4\.7\.1 .* 60 seconds$/);
  expect(await come('other@example.org')).toMatch(/^451 4\.7\.1 .* 300 seconds$/);
  scene.clock.advance(MINUTE);
  expect(await come()).toMatch(/^250 /);
  expect(await come('third@example.org')).toMatch(/^250 /);
  scene.clock.advance(30 * DAY);
  expect(await come('third@example.org')).toMatch(/^250 /);
  scene.clock.advance(30 * DAY);
  expect(await come('third@example.org')).toMatch(/^250 /);
  scene.clock.advance(37 * DAY);
  expect(await come('third@example.org')).toMatch(/^451 /);
});

it('greylisting starts again for a sender that returns too late', async () => {
  expect(await come()).toMatch(/^451 /);
  scene.clock.advance(25 * 60 * MINUTE);
  expect(await come()).toMatch(/^451 4\.7\.1 .* 300 seconds$/);
});

it('greylisting remembers a bounded number of senders, and forgets them', async () => {
  for (const n of [1, 2, 3]) expect(await come(`n${n}@example.org`)).toMatch(/^451 /);
  expect(await rows()).toBe(3);
  expect(await come('n4@example.org')).toMatch(/^250 /);
  expect(await rows()).toBe(3);
  scene.clock.advance(2 * DAY);
  await forget();
  expect(await rows()).toBe(0);
});
