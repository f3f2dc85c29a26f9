import { expect, it } from 'vitest';
import { nextTurn } from '../../../src/platform/clock.ts';
import { openEventStream } from '../../rig/event-stream.ts';
import { startScene } from '../../rig/scene.ts';

it('an event stream that opens during the check of the others stays open, at any moment', async () => {
  await using scene = await startScene();
  const team = await scene.team();
  await using other = await openEventStream(scene.url, { key: team.key });
  await other.until(1);
  for (let turns = 0; turns < 60; turns += 2) {
    const opening = openEventStream(scene.url, { key: team.key });
    for (let i = 0; i < turns; i++) await nextTurn();
    scene.clock.advance(15_000);
    await using stream = await opening;
    await stream.until(1);
    const email = `a${turns}@example.org`;
    expect((await scene.api('POST', '/suppressions', { key: team.key, body: { email } })).status).toBe(201);
    const [event] = await stream.until(1, 'event');
    expect(JSON.parse(event?.data.payload as string)).toMatchObject({ data: { email } });
  }
});
