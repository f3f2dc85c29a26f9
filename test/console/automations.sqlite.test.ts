import { afterAll, beforeAll, describe, it } from 'vitest';
import { start, step, supply, wait } from '../api/automations/graph.ts';
import { HOUR } from '../flow/mail.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { keepFrame } from './keep-frame.ts';
import { Screen } from './screen.ts';

const graph = {
  steps: [
    start,
    step('known', 'condition', { type: 'rule', field: 'first_name', operator: 'exists' }),
    step('thanks', 'send_email', { template: { id: 'thanks', variables: { PRODUCT: { var: 'event.product' } } } }),
    wait('a week', '1 week'),
    step('buyers', 'add_to_segment', { segment_id: '' }),
    wait('a day', '1 day'),
    step('remind', 'send_email', { template: { id: 'thanks', variables: { PRODUCT: 'Tea' } }, subject: 'Still here?' }),
  ],
  connections: [
    { from: 'start', to: 'known' },
    { from: 'known', to: 'thanks', type: 'condition_met' },
    { from: 'known', to: 'a day', type: 'condition_not_met' },
    { from: 'thanks', to: 'a week' },
    { from: 'a week', to: 'buyers' },
    { from: 'a day', to: 'remind' },
  ],
};

/** An automation with runs that are over in each way there is, and some that stand at its delays. */
async function makeWelcome(scene: Scene): Promise<string> {
  const has = await supply(scene);
  const { key } = has.team;
  const call = async (method: string, path: string, body?: object) => {
    const answer = await scene.api(method, path, { key, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const steps = graph.steps.map((one) =>
    one.key === 'buyers' ? { ...one, config: { segment_id: has.segment } } : one,
  );
  await call('POST', '/automations', { name: 'Welcome', status: 'enabled', ...graph, steps });
  const contact = async (name: string): Promise<string> =>
    (
      await call('POST', '/contacts', {
        email: `${name}@example.org`,
        ...(name[0] === 'b' ? {} : { first_name: name }),
      })
    ).id;
  const send = async (contactId: string, payload: object = { product: 'Tea' }): Promise<void> => {
    await call('POST', '/events/send', { event: 'order', contact_id: contactId, payload });
    await scene.settled();
    scene.clock.advance(1000);
  };
  // Completed and failed: a week later, and without what the template asks for.
  await send(await contact('ann'));
  scene.clock.advance(8 * 24 * HOUR);
  await scene.settled();
  await send(await contact('cat'), {});
  const erased = await contact('ben');
  await send(erased);
  await call('DELETE', `/contacts/${erased}`);
  for (const name of ['dan', 'eve', 'bob']) await send(await contact(name));
  return key;
}

describe('an automation with runs in the console', () => {
  let scene: Scene;
  let seat: Screen;
  beforeAll(async () => {
    scene = await startScene();
    seat = await Screen.take({ url: scene.url, key: await makeWelcome(scene) });
    await seat.sees('received mail');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
  });

  const open = async (side: RegExp): Promise<void> => {
    await seat.type(':automations');
    await seat.press('Enter');
    await seat.sees(/^› .*Welcome/m);
    await seat.press('Enter');
    await seat.sees('3 running, 1 completed, 1 failed, 1 cancelled');
    for (let tries = 0; tries < 3 && !side.test(await seat.frame()); tries++) await seat.press('l');
  };

  it('shows its graph with the number of runs at each step', async () => {
    await open(/\[steps\]/);
    await keepFrame(seat, 'automation-graph', '2 here');
  });

  it('shows its runs in each status', async () => {
    await open(/\[runs\]/);
    await keepFrame(seat, 'automation-runs', 'cancelled');
  });

  it('shows a failed run with what happened at its steps', async () => {
    await open(/\[runs\]/);
    await seat.sees(/^› /m);
    for (let tries = 0; tries < 6 && !/^› .*failed/m.test(await seat.frame()); tries++) await seat.press('j');
    await seat.press('Enter');
    // Its steps are a side once it is loaded.
    await seat.sees(/^(?:.*│)? *Ended /m, '[details] steps');
    await seat.press('l');
    await keepFrame(seat, 'automation-run', 'met: true');
  });
});
