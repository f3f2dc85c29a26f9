// an automation that is deleted while a step of its run is in accept: one of them is first, and the other finds what it left
import { expect, it } from 'vitest';
import { createAutomationLoop } from '../../src/features/automations/runner/execute-run.ts';
import type { Executor } from '../../src/platform/db/index.ts';
import { line, start, step, supply, wait } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';

async function begun(scene: Scene) {
  const has = await supply(scene);
  const must = async (method: string, path: string, body?: object) => {
    const answer = await scene.api(method, path, { key: has.team.key, ...(body && { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const mail = step('mail', 'send_email', { template: { id: has.template, variables: { PRODUCT: 'Tea' } } });
  const graph = line(start, mail, wait('later'));
  const { id } = await must('POST', '/automations', { name: 'A', status: 'enabled', ...graph });
  await must('POST', '/events/send', { event: 'order', contact_id: has.contact });
  return { id: id as string, erase: () => must('DELETE', `/automations/${id}`) };
}

async function left({ app: { world } }: Scene) {
  const steps = await world.db.all("select step_key, status from automation_run_steps where step_key <> 'start'");
  const emails = await world.db.all('select id from emails');
  const runs = await world.db.all('select status from automation_runs');
  return { steps, emails: emails.length, runs };
}

/** Calls `before` when the transaction of the email's step is about to begin, and `within` when all of it is written. */
function hold(
  { app: { world } }: Scene,
  { before, within }: { before?(): Promise<unknown>; within?(): Promise<unknown> },
): void {
  const { db } = world;
  const { tx } = db;
  let isStep = true;
  const wrote = async (inner: Executor): Promise<boolean> =>
    isStep && (await inner.all('select id from emails')).length > 0;
  Object.assign(db, {
    tx: (async (work) => {
      const isBehindTrigger = (await db.all('select step_key from automation_run_steps')).length > 0;
      if (before && isStep && isBehindTrigger) {
        isStep = false;
        await before();
      }
      return tx(async (inner) => {
        const value = await work(inner);
        if (within && (await wrote(inner))) {
          isStep = false;
          await within();
        }
        return value;
      });
    }) satisfies typeof tx,
  });
}

async function carry({ app: { world } }: Scene): Promise<void> {
  const loop = createAutomationLoop(world, () => undefined);
  await loop.start();
  await loop.idle();
  await loop.stop(0);
}

it('a run that is deleted before its step is written leaves nothing of the step', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { erase } = await begun(scene);
  hold(scene, { before: erase });
  await carry(scene);
  expect(await left(scene)).toEqual({ steps: [], emails: 0, runs: [{ status: 'cancelled' }] });
});

it('the deletion of a run waits for the step that is being written, whose email stays and is followed by nothing', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { erase } = await begun(scene);
  const order: string[] = [];
  let deletion: Promise<unknown> | undefined;
  hold(scene, {
    within: async () => {
      deletion = erase().then(() => order.push('deleted'));
      // In so many turns, the deletion would be done if it did not wait.
      for (let n = 0; n < 200; n++) await new Promise((next) => setImmediate(next));
      order.push('written');
    },
  });
  await carry(scene);
  await deletion;
  expect(order).toEqual(['written', 'deleted']);
  const { emails, runs } = await left(scene);
  expect({ emails, runs }).toEqual({ emails: 1, runs: [{ status: 'cancelled' }] });
  scene.clock.advance(2 * 86_400_000);
  await carry(scene);
  expect(await left(scene)).toMatchObject({ emails: 1, runs: [{ status: 'cancelled' }] });
});
