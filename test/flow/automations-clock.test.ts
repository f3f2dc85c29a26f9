// a run in the midst of a step, whose lease has run out --> a look of the same process --> the step is done once
import { expect, it } from 'vitest';
import { createAutomationLoop } from '../../src/flow/automations/index.ts';
import { line, start, step, supply } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';

const DAY_MS = 86_400_000;

/** Before the transaction of the first step behind the trigger. */
function beforeStep({ app: { world } }: Scene, work: () => Promise<void>): void {
  const { db } = world;
  const { tx } = db;
  let isToCome = true;
  Object.assign(db, {
    tx: (async (inner) => {
      if (isToCome && (await db.all('select step_key from automation_run_steps')).length > 0) {
        isToCome = false;
        await work();
      }
      return tx(inner);
    }) satisfies typeof tx,
  });
}

it('a clock that jumps, or a process that was suspended, in the midst of a step: the step is done once', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { world } = scene.app;
  const has = await supply(scene);
  const call = (path: string, body: object) => scene.api('POST', path, { key: has.team.key, body });
  const mail = step('mail', 'send_email', { template: { id: has.template, variables: { PRODUCT: 'Tea' } } });
  const add = step('add', 'add_to_segment', { segment_id: has.segment });
  await call('/automations', { name: 'A', status: 'enabled', ...line(start, mail, add) });
  await call('/events/send', { event: 'order', contact_id: has.contact });
  const loop = createAutomationLoop(world, () => undefined);
  const { now } = world.clock;
  beforeStep(scene, async () => {
    // No timer has fired yet that renews the leases.
    Object.assign(world.clock, { now: () => now() + 40 * DAY_MS });
    loop.wake();
    for (let n = 0; n < 200; n++) await new Promise((next) => setImmediate(next));
  });
  await loop.start();
  await loop.idle();
  await loop.stop(0);
  expect(await world.db.all('select status from automation_runs')).toEqual([{ status: 'completed' }]);
  expect(await world.db.all('select id from emails')).toHaveLength(1);
});
