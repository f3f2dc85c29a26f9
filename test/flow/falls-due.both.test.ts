import { expect, it } from 'vitest';
import { nextTurn } from '../../src/platform/clock.ts';
import { startScene } from '../rig/scene.ts';
import { HOUR, mailIn } from './mail.ts';

const MOMENTS = 24;

it('mail that becomes due during a poll of the queue is claimed at once, at any moment', async () => {
  await using scene = await startScene();
  const mail = await mailIn(scene);
  for (let turns = 0; turns < MOMENTS; turns++) {
    const at = new Date(scene.clock.now() + HOUR).toISOString();
    const id = await mail.send('x@one.example', { scheduled_at: at });
    await scene.settled();
    scene.app.queue?.wake();
    for (let i = 0; i < turns; i++) await nextTurn();
    scene.clock.advance(HOUR);
    await scene.settled();
    expect(await mail.account(id), `after ${turns} turns`).toMatchObject({ state: 'delivered' });
  }
});
