// runs that are carried <-> contacts that are erased, automations that are stopped, mail that is woken
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAutomationLoop } from '../../src/features/automations/runner/execute-run.ts';
import { startDates } from '../../src/features/automations/start.ts';
import type { Executor } from '../../src/platform/db/index.ts';
import {
  cancelAutomationRuns,
  eraseContactRuns,
  removeEndedRuns,
} from '../../src/features/automations/automation-runs.store.ts';
import { line, start, step, supply, type Supplies } from '../api/automations/graph.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';

let scene: Scene;
let has: Supplies;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());
beforeEach(async () => {
  has = await supply(scene);
});

async function call(method: string, path: string, body?: unknown) {
  const answer = await scene.api(method, path, { key: has.team.key, ...(body === undefined ? {} : { body }) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body;
}
const automate = async (trigger: typeof start, ...steps: { key: string }[]): Promise<string> =>
  (await call('POST', '/automations', { name: 'A', status: 'enabled', ...line(trigger, ...steps) })).id;
const order = () => call('POST', '/events/send', { event: 'order', contact_id: has.contact, payload: {} });
const rename = step('name', 'contact_update', { first_name: 'Renamed' });
const newestRun = async (id: string) => (await call('GET', `/automations/${id}/runs`)).data[0];
const errors = (): string[] => scene.log.filter((line) => /"level":"(?:warn|error|fatal)/.test(line));

// runs only with PostgreSQL, where one transaction waits for the rows of another
describe.runIf(driver === 'pg')('a deadlock is avoided between', () => {
  const waiting = async (): Promise<number> => {
    const sql =
      "select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    return Number((await scene.app.world.db.get<{ n: number }>(sql))?.n);
  };

  /** Holds what a change holds first, until a step waits for it; then the change goes on to the runs. */
  async function between(
    hold: (tx: Executor) => Promise<unknown>,
    goOn: (tx: Executor) => Promise<void>,
  ): Promise<void> {
    const loop = createAutomationLoop(scene.app.world, () => undefined);
    await scene.app.world.db.tx(async (tx) => {
      await hold(tx);
      await loop.start();
      await expect.poll(waiting).toBe(1);
      await goOn(tx);
    });
    await loop.idle();
    await loop.stop(0);
  }

  it('a run and its contact, which is erased meanwhile', async () => {
    const id = await automate(start, rename);
    await order();
    const before = errors().length;
    await between(
      (tx) => tx.get('select id from contacts where id = ? for update', [has.contact]),
      async (tx) => {
        await eraseContactRuns(tx, has.contact, scene.clock.now());
      },
    );
    expect(errors().slice(before)).toEqual([]);
    expect(await newestRun(id)).toMatchObject({ status: 'cancelled' });
    expect(await call('GET', `/contacts/${has.contact}`)).toMatchObject({ first_name: null });
  });

  it('a run and its automation, which the run starts again and which is stopped meanwhile', async () => {
    const id = await automate({ ...start, config: { event_name: 'rasket:contact.updated' } }, rename);
    await call('PATCH', `/contacts/${has.contact}`, { last_name: 'Lovelace' });
    const before = errors().length;
    await between(
      (tx) => tx.get('select id from automations where id = ? for update', [id]),
      (tx) => cancelAutomationRuns(tx, id, scene.clock.now()),
    );
    expect(errors().slice(before)).toEqual([]);
    const { data } = await call('GET', `/automations/${id}/runs`);
    expect(data.map(({ status }: { status: string }) => status)).toEqual(['cancelled']);
    expect(await call('GET', `/contacts/${has.contact}`)).toMatchObject({ first_name: null });
  });

  /** Holds what an event of an email holds first; when the change waits or is done, the event goes on to the contact. */
  async function besideEventOfEmail(
    automation: string,
    contact: string,
    change: () => Promise<unknown>,
  ): Promise<void> {
    let changed: Promise<unknown> | undefined;
    await scene.app.world.db.tx(async (tx) => {
      await tx.get('select id from automations where id = ? for share', [automation]);
      let isDone = false;
      changed = change().then(() => (isDone = true));
      await expect.poll(async () => isDone || (await waiting()) > 0).toBe(true);
      await tx.get('select id from contacts where id = ? for key share', [contact]);
    });
    // A change of the automation itself waits until the event is recorded.
    await changed;
  }

  it('a failed run that is retried and an event of an email to its contact', async () => {
    const id = await automate(start, rename);
    await order();
    const { id: run } = await newestRun(id);
    await scene.app.world.db.run("update automation_runs set status = 'failed' where id = ?", [run]);
    await besideEventOfEmail(id, has.contact, () => call('POST', `/automations/${id}/runs/${run}/retry`));
    expect(await newestRun(id)).toMatchObject({ status: 'running' });
  });

  it('a date that starts a run and an event of an email to its contact', async () => {
    await call('POST', '/contact-properties', { key: 'birthday', type: 'string' });
    const trigger = { ...start, config: { date_property: 'birthday' } } as never;
    const id = await automate(trigger, rename);
    // The date occurs tomorrow, so that its hour comes within the next two days.
    const day = new Date(scene.clock.now() + 24 * 3_600_000).toISOString().slice(5, 10);
    await call('PATCH', `/contacts/${has.contact}`, { properties: { birthday: day } });
    for (let hours = 0; hours < 48 && (await newestRun(id)) === undefined; hours++) {
      scene.clock.advance(3_600_000);
      await besideEventOfEmail(id, has.contact, () => startDates(scene.app.world));
    }
    expect(await newestRun(id)).toMatchObject({ contact_id: has.contact });
  });

  it('the removal of old runs and the erasure of an ended run, which is removed the next time', async () => {
    const { db } = scene.app.world;
    const id = await automate(start);
    await order();
    await call('POST', `/automations/${id}/stop`);
    const team = { teamId: has.team.id, beforeMs: scene.clock.now() + 1 };
    const removed = () => db.tx((tx) => removeEndedRuns(tx, team, 10));
    await db.tx(async (tx) => {
      await eraseContactRuns(tx, has.contact, scene.clock.now());
      expect(await removed()).toBe(0);
    });
    expect(await removed()).toBe(1);
  });
});

it('an error after the commit of a step is no failure of the step, which is done and reported once', async () => {
  const id = await automate(
    start,
    step('mail', 'send_email', { template: { id: has.template, variables: { PRODUCT: 'Tea' } } }),
    rename,
  );
  await order();
  const loop = createAutomationLoop(scene.app.world, () => {
    throw new Error('the queue is asleep');
  });
  await loop.start();
  await loop.idle();
  await loop.stop(0);
  expect(await newestRun(id)).toMatchObject({ status: 'completed' });
  const sql = "select count(*) as n from events where team_id = ? and type = 'automation.run.started'";
  expect(Number((await scene.app.world.db.get<{ n: number }>(sql, [has.team.id]))?.n)).toBe(1);
  expect(await call('GET', '/emails')).toMatchObject({ data: [{}] });
  expect(errors().join()).toContain('the queue is asleep');
});
