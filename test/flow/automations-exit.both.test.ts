// an event that ends the runs of its contact --> runs that wait, runs that are due, and runs whose step is being done
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRunExecutor } from '../../src/features/automations/runner/execute-run.ts';
import { claimDueRuns } from '../../src/features/automations/automation-runs.store.ts';
import { overlaid } from '../../src/platform/db/index.ts';
import { line, start, step, supply, wait, type Supplies } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { arrived, desk, mail } from './automations-desk.ts';
import { HOUR } from './mail.ts';

const DAY = 24 * HOUR;

let scene: Scene;
let has: Supplies;
let at: ReturnType<typeof desk>;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());
beforeEach(async () => {
  has = await supply(scene);
  at = desk(scene, has);
  await at.must('POST', '/events', { name: 'paid' });
  scene.sink.messages.length = 0;
});

const thanks = () => mail('thanks', has, { PRODUCT: 'Tea' });
const make = async (exitOn: string[], steps: { key: string }[], more: object = {}): Promise<string> => {
  const body = { name: 'A', status: 'enabled', exit_on: exitOn, ...line(start, ...steps), ...more };
  return (await at.must('POST', '/automations', body)).id as string;
};
const pay = (contact = has.contact) => at.must('POST', '/events/send', { event: 'paid', contact_id: contact });

describe('an event of exit_on', () => {
  it('ends the waiting runs of its contact as completed with the event, and no others', async () => {
    const id = await make(['paid'], [wait('w'), thanks()]);
    const other = await make([], [wait('w')]);
    const bob = (await at.must('POST', '/contacts', { email: 'bob@example.org' })).id as string;
    for (const contact of [has.contact, has.contact, bob]) await at.send({}, contact);
    await scene.settled();
    scene.clock.advance(HOUR);
    await pay();
    const now = new Date(scene.clock.now()).toISOString();
    const runs = (await at.get(`/automations/${id}/runs`)).data;
    expect(runs).toMatchObject([
      { contact_id: bob, status: 'running', ended_by: null },
      { contact_id: has.contact, status: 'completed', ended_by: 'paid', completed_at: now, error: null },
      { contact_id: has.contact, status: 'completed', ended_by: 'paid', completed_at: now, error: null },
    ]);
    expect((await at.get(`/automations/${other}`)).runs).toMatchObject({ running: 3 });
    const told = await scene.events(runs[1].id);
    expect(told.map(({ type }) => type)).toEqual(['automation.run.started', 'automation.run.completed']);
    expect(told.at(-1)).toMatchObject({ data: { status: 'completed', ended_by: 'paid' } });
    scene.clock.advance(DAY);
    await scene.settled();
    expect(arrived(scene, 'Thanks')).toEqual(['bob@example.org']);
    expect(await at.get(`/automations/${id}/runs/${runs[1].id}`)).toMatchObject({
      steps: [{ status: 'completed' }, { key: 'w', status: 'skipped' }, { key: 'thanks', status: 'skipped' }],
    });
  });

  describe('and a run that is due', () => {
    let quiet: Scene;
    let own: Supplies;
    let there: ReturnType<typeof desk>;
    let id: string;
    beforeAll(async () => {
      quiet = await startScene({ roles: ['http'] });
    });
    afterAll(() => quiet.close());
    beforeEach(async () => {
      own = await supply(quiet);
      there = desk(quiet, own);
      await there.must('POST', '/events', { name: 'paid' });
      const graph = line(start, mail('thanks', own, { PRODUCT: 'Tea' }));
      id = (await there.must('POST', '/automations', { name: 'A', status: 'enabled', exit_on: ['paid'], ...graph })).id;
      await there.send();
    });
    const payThere = () => there.must('POST', '/events/send', { event: 'paid', contact_id: own.contact });
    const claim = () => {
      const now = quiet.clock.now();
      return quiet.app.world.db.tx((tx) => claimDueRuns(tx, { owner: 'one', now, until: now + HOUR, limit: 1 }));
    };

    it('the run is not executed when the event was recorded before it was claimed', async () => {
      await payThere();
      expect(await claim()).toEqual([]);
      expect(await there.run(id)).toMatchObject({ status: 'completed', ended_by: 'paid', started_at: null });
    });

    it('the transaction of the step fails and nothing is sent when the event is recorded before it', async () => {
      const { world } = quiet.app;
      const [run] = await claim();
      if (!run) throw new Error('no run was claimed');
      // The trigger is the first transaction of the run, and the email is the second.
      let transactions = 0;
      const db = overlaid(world.db, {
        async tx(work) {
          if (++transactions === 2) await payThere();
          return world.db.tx(work);
        },
      });
      const execute = createRunExecutor({ ...world, db }, { owner: 'one', wakeQueue: vi.fn() });
      await execute(run, new AbortController().signal);
      expect(transactions).toBe(2);
      expect(await there.run(id)).toMatchObject({
        status: 'completed',
        ended_by: 'paid',
        by: { start: { status: 'completed' }, thanks: { status: 'skipped' } },
      });
      expect((await there.get('/emails')).data).toEqual([]);
    });
  });

  it('leaves what was done before it, and ends the run after the step', async () => {
    const id = await make(
      ['paid'],
      [thanks(), wait('w'), mail('second', has, { PRODUCT: 'Tea' }, { subject: 'Second' })],
    );
    await at.send();
    await scene.settled();
    await pay();
    scene.clock.advance(DAY);
    await scene.settled();
    expect(await at.run(id)).toMatchObject({ status: 'completed', by: { thanks: { status: 'completed' } } });
    expect([arrived(scene, 'Thanks'), arrived(scene, 'Second')]).toEqual([['ada@example.org'], []]);
  });

  it('lets the contact enter again when reentry is when_ended, and also starts the automation if that is its trigger', async () => {
    const id = await make(['paid'], [wait('w')], { reentry: 'when_ended' });
    await at.send();
    await pay();
    await at.send();
    const again = await make(['order'], [wait('w')], { reentry: 'when_ended' });
    await at.send();
    await at.send();
    const states = async (automation: string) =>
      ((await at.get(`/automations/${automation}/runs`)).data as { status: string }[]).map(({ status }) => status);
    expect(await states(id)).toEqual(['running', 'completed']);
    expect(await states(again)).toEqual(['running', 'completed']);
  });

  it('also ends runs of an automation that was disabled, and none of one that was deleted', async () => {
    const id = await make(['paid'], [wait('w')]);
    const gone = await make(['paid'], [wait('w')]);
    await at.send();
    await at.must('PATCH', `/automations/${id}`, { status: 'disabled' });
    await at.must('DELETE', `/automations/${gone}`);
    await pay();
    expect(await at.run(id)).toMatchObject({ status: 'completed', ended_by: 'paid' });
    const sql = 'select status, ended_by from automation_runs where automation_id = ?';
    expect(await scene.app.world.db.all(sql, [gone])).toEqual([{ status: 'cancelled', ended_by: null }]);
    expect(await scene.app.world.db.all('select * from automation_exits where automation_id = ?', [gone])).toEqual([]);
  });

  it('of the platform ends runs by a change through the API, but not by a step of an automation', async () => {
    const own = await make(
      ['rasket:contact.updated'],
      [step('name', 'contact_update', { first_name: 'Ada' }), wait('w')],
    );
    await at.send();
    await scene.settled();
    expect(await at.run(own)).toMatchObject({ status: 'running', by: { name: { status: 'completed' } } });
    await at.must('PATCH', `/contacts/${has.contact}`, { last_name: 'Lovelace' });
    expect(await at.run(own)).toMatchObject({ status: 'completed', ended_by: 'rasket:contact.updated' });
  });

  it('of an email ends the run of the contact to whom the email was sent', async () => {
    const id = await make(['rasket:email.bounced'], [wait('w')]);
    const bad = (await at.must('POST', '/contacts', { email: 'permfail@one.example' })).id as string;
    await at.send({}, bad);
    await at.send();
    await at.must('POST', '/emails', {
      from: `shop@${has.domain}`,
      to: 'permfail@one.example',
      subject: 'Receipt',
      text: 'x',
    });
    await scene.settled();
    expect((await at.get(`/automations/${id}/runs`)).data).toMatchObject([
      { contact_id: has.contact, status: 'running' },
      { contact_id: bad, status: 'completed', ended_by: 'rasket:email.bounced' },
    ]);
  });
});

describe('exit_on of an automation', () => {
  it('is shown, changed for running runs as well, copied, and removed by an empty list or null', async () => {
    const id = await make(['paid', 'rasket:email.clicked', 'paid'], [wait('w')]);
    const shown = async (automation = id) => (await at.get(`/automations/${automation}`)).exit_on;
    expect(await shown()).toEqual(['paid', 'rasket:email.clicked']);
    expect((await at.get('/automations')).data[0]).toMatchObject({ exit_on: ['paid', 'rasket:email.clicked'] });
    const copy = (await at.must('POST', `/automations/${id}/duplicate`)).id as string;
    await at.send();
    for (const none of [[], null]) {
      await at.must('PATCH', `/automations/${id}`, { exit_on: none });
      expect(await shown()).toEqual([]);
    }
    await pay();
    expect(await at.run(id)).toMatchObject({ status: 'running' });
    await at.must('PATCH', `/automations/${id}`, { exit_on: ['paid'] });
    await at.must('PATCH', `/automations/${id}`, { name: 'B' });
    expect(await shown()).toEqual(['paid']);
    await pay();
    expect(await at.run(id)).toMatchObject({ status: 'completed', ended_by: 'paid' });
    expect(await shown(copy)).toEqual(['paid', 'rasket:email.clicked']);
    await at.must('PATCH', `/automations/${copy}`, { status: 'enabled' });
    await at.send();
    await pay();
    expect(await at.run(copy)).toMatchObject({ status: 'completed', ended_by: 'paid' });
  });

  it.each([
    [['nothing'], 422, 'exit_on refers to the event nothing, which does not exist.'],
    [['rasket:email.sent'], 422, 'exit_on refers to rasket:email.sent, which is not a platform event'],
    [Array.from({ length: 11 }, () => 'paid'), 400, 'exit_on must be a list of at most 10 names of events'],
    [[''], 400, 'exit_on must contain names of events'],
    ['paid', 400, 'exit_on must be a list of at most 10 names of events'],
  ])('is refused as %j with %i', async (exitOn, status, message) => {
    const id = await make([], [wait('w')]);
    const body = { name: 'A', exit_on: exitOn, ...line(start, wait('w')) };
    const expected = { status, body: { name: 'validation_error', message: expect.stringContaining(message) } };
    expect(await at.call('POST', '/automations', body)).toMatchObject(expected);
    expect(await at.call('PATCH', `/automations/${id}`, { exit_on: exitOn })).toMatchObject(expected);
  });

  it('names the event as it was declared: one that is declared again ends runs after the automation is enabled again', async () => {
    const id = await make(['paid'], [wait('w')]);
    await at.send();
    await at.must('DELETE', '/events/paid');
    const disable = () => at.must('PATCH', `/automations/${id}`, { status: 'disabled' });
    const enable = () => at.call('PATCH', `/automations/${id}`, { status: 'enabled' });
    await disable();
    expect(await enable()).toMatchObject({ status: 422 });
    await at.must('POST', '/events', { name: 'paid' });
    await pay();
    expect(await at.run(id)).toMatchObject({ status: 'running' });
    expect(await enable()).toMatchObject({ status: 200 });
    await pay();
    expect(await at.run(id)).toMatchObject({ status: 'completed', ended_by: 'paid' });
  });
});
