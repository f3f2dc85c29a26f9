import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { line, start, step, supply, wait, type Supplies } from '../api/automations/graph.ts';
import { arrived, desk, mail } from './automations-desk.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR, MINUTE } from './mail.ts';
import { POSTAL_ADDRESS } from './campaign.ts';

const DAY = 24 * HOUR;

describe('an automation run', () => {
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
    scene.sink.messages.length = 0;
  });

  it('does each step once, and reports its start and its end', async () => {
    const id = await at.automate(
      step('name', 'contact_update', { first_name: 'Ada', unsubscribed: false, properties: { plan: 'pro', seats: 3 } }),
      step('add', 'add_to_segment', { segment_id: has.segment }),
      step('news', 'topic_update', { topic_id: has.topic, subscription: 'opt_in' }),
      mail('thanks', has, { PRODUCT: { var: 'event.product' }, TOTAL: { var: 'event.total' } }, { subject: 'Yours' }),
    );
    await at.send({ product: '<Tea>', total: 40 });
    await scene.settled();
    const run = await at.run(id);
    const now = new Date(scene.clock.now()).toISOString();
    expect(run).toMatchObject({ status: 'completed', started_at: now, completed_at: now });
    expect(Object.values(run.by).map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'completed'));
    expect(await at.get(`/contacts/${has.contact}`)).toMatchObject({
      first_name: 'Ada',
      properties: { plan: 'pro', seats: 3 },
    });
    expect((await at.get(`/segments/${has.segment}/contacts`)).data).toMatchObject([{ id: has.contact }]);
    expect((await at.get(`/contacts/${has.contact}/topics`)).data).toMatchObject([{ subscription: 'opt_in' }]);
    expect(arrived(scene, 'Yours')).toEqual(['ada@example.org']);
    const email = await at.get(`/emails/${run.by['thanks']?.output?.['email_id'] as string}`);
    expect(email).toMatchObject({ html: '<p>&lt;Tea&gt; 40</p>', last_event: 'delivered' });
    const data = String(scene.sink.messages[0]?.data);
    expect(data).toMatch(/List-Unsubscribe: <http.*\/unsubscribe\//);
    expect(data).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    const told = await scene.events(run.id);
    expect(told.map(({ type }) => type)).toEqual(['automation.run.started', 'automation.run.completed']);
  });

  it('uses the values of the contact, and falls back when neither it nor the event has one', async () => {
    const id = await at.automate(
      mail('m', has, { PRODUCT: { var: 'contact.email' }, TOTAL: { var: 'event.nothing' } }),
    );
    await at.send();
    await scene.settled();
    const { by } = await at.run(id);
    expect(await at.get(`/emails/${by['m']?.output?.['email_id'] as string}`)).toMatchObject({
      html: '<p>ada@example.org 0</p>',
    });
  });

  it('fails at a condition on a deleted property, whatever its branches, unless the other rules decide it', async () => {
    const declare = async (key: string) =>
      (await at.must('POST', '/contact-properties', { key, type: 'string' })).id as string;
    const property = await declare('nomail');
    const wants = { type: 'rule', field: 'properties.nomail', operator: 'neq', value: 'yes' };
    const known = { type: 'rule', field: 'email', operator: 'eq', value: 'ada@example.org' };
    const branched = async (config: object): Promise<string> =>
      (
        await at.must('POST', '/automations', {
          name: 'Branched',
          status: 'enabled',
          steps: [start, { key: 'if', type: 'condition', config }, mail('yes', has), mail('no', has)],
          connections: [
            { from: 'start', to: 'if' },
            { from: 'if', to: 'yes', type: 'condition_met' },
            { from: 'if', to: 'no', type: 'condition_not_met' },
          ],
        })
      ).id as string;
    const undecided = await branched(wants);
    const decided = await branched({ type: 'or', rules: [wants, known] });
    await at.must('DELETE', `/contact-properties/${property}`);
    await at.send({ product: 'Tea' });
    await scene.settled();
    expect(await at.run(undecided)).toMatchObject({
      status: 'failed',
      by: {
        if: { status: 'failed', error: { message: 'The property nomail was not found in this team.' } },
        yes: { status: 'skipped' },
        no: { status: 'skipped' },
      },
    });
    expect(await at.run(decided)).toMatchObject({ status: 'completed', by: { yes: { status: 'completed' } } });
    expect(arrived(scene, 'Thanks')).toHaveLength(1);
  });

  it('waits for the given time once, also across a restart', async () => {
    const until = new Date(scene.clock.now() + 5 * DAY).toISOString();
    const id = await at.automate(
      wait('days', '3 days'),
      mail('first', has),
      step('until', 'delay', { until }),
      mail('last', has),
    );
    await at.send({ product: 'Tea' });
    await scene.settled();
    expect(await at.run(id)).toMatchObject({
      status: 'running',
      by: { start: { status: 'completed' }, days: { status: 'waiting' }, first: { status: 'pending' } },
    });
    scene.clock.advance(3 * DAY - MINUTE);
    await scene.settled();
    expect(arrived(scene, 'Thanks')).toEqual([]);
    await scene.restart();
    scene.clock.advance(MINUTE);
    await scene.settled();
    expect(arrived(scene, 'Thanks')).toHaveLength(1);
    expect(await at.run(id)).toMatchObject({
      by: { days: { status: 'completed' }, until: { status: 'waiting', output: { until } } },
    });
    scene.clock.advance(2 * DAY);
    await scene.settled();
    expect(arrived(scene, 'Thanks')).toHaveLength(2);
    expect(await at.run(id)).toMatchObject({ status: 'completed' });
  });

  it('waits through a clock that goes back an hour and then forward forty days, and runs once', async () => {
    const id = await at.automate(
      wait('days', '3 days'),
      mail('first', has),
      wait('month', '30 days'),
      mail('last', has),
    );
    await at.send({ product: 'Tea' });
    await scene.settled();
    scene.clock.advance(-HOUR);
    await scene.settled();
    expect(await at.run(id)).toMatchObject({ status: 'running', by: { days: { status: 'waiting' } } });
    expect(arrived(scene, 'Thanks')).toEqual([]);
    scene.clock.advance(40 * DAY);
    await scene.settled();
    // The second delay begins where the first was found to be over.
    expect(arrived(scene, 'Thanks')).toHaveLength(1);
    expect(await at.run(id)).toMatchObject({ status: 'running', by: { month: { status: 'waiting' } } });
    scene.clock.advance(30 * DAY);
    await scene.settled();
    expect(arrived(scene, 'Thanks')).toHaveLength(2);
    expect(await at.run(id)).toMatchObject({ status: 'completed' });
  });

  it('takes one branch of a condition, by the contact at that moment', async () => {
    const steps = [
      start,
      wait('later'),
      step('paying', 'condition', { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'PRO' }),
      mail('yes', has, undefined, { subject: 'Yes' }),
      mail('no', has, undefined, { subject: 'No' }),
    ];
    const connections = [
      { from: 'start', to: 'later' },
      { from: 'later', to: 'paying' },
      { from: 'paying', to: 'yes', type: 'condition_met' },
      { from: 'paying', to: 'no', type: 'condition_not_met' },
    ];
    const { id } = await at.must('POST', '/automations', { name: 'A', status: 'enabled', steps, connections });
    await at.send({ product: 'Tea' });
    await scene.settled();
    await at.must('PATCH', `/contacts/${has.contact}`, { properties: { plan: 'pro' } });
    scene.clock.advance(DAY);
    await scene.settled();
    expect([arrived(scene, 'Yes'), arrived(scene, 'No')]).toEqual([['ada@example.org'], []]);
    expect(await at.run(id as string)).toMatchObject({
      status: 'completed',
      by: { paying: { output: { met: true } }, no: { status: 'skipped' } },
    });
  });

  it('keeps its version, and continues when its automation is disabled', async () => {
    const id = await at.automate(wait('later'), mail('old', has));
    await at.send({ product: 'Tea' });
    await scene.settled();
    await at.must('PATCH', `/automations/${id}`, { ...line(start), status: 'disabled' });
    scene.clock.advance(DAY);
    await scene.settled();
    expect(arrived(scene, 'Thanks')).toEqual(['ada@example.org']);
  });

  it.each([
    ['stopped', 'POST', (id: string) => `/automations/${id}/stop`],
    ['deleted', 'DELETE', (id: string) => `/automations/${id}`],
    ['over because its contact is erased', 'DELETE', () => '/contacts/ada@example.org'],
  ])('does nothing more when it is %s while it waits', async (_, method, pathOf) => {
    const id = await at.automate(wait('later'), mail('never', has));
    await at.send({ product: 'Tea' });
    await scene.settled();
    await at.must(method, pathOf(id));
    scene.clock.advance(DAY);
    await scene.settled();
    expect(scene.sink.messages).toEqual([]);
    const sql = 'select status from automation_runs where automation_id = ?';
    expect(await scene.app.world.db.all(sql, [id])).toEqual([{ status: 'cancelled' }]);
  });

  it('skips an email that the contact must not get, and continues', async () => {
    await at.must('PATCH', '/team', { postal_address: POSTAL_ADDRESS });
    const id = await at.automate(
      mail('a', has, undefined, { topic_id: has.topic }),
      mail('b', has),
      wait('w'),
      mail('c', has),
    );
    await at.send({ product: 'Tea' });
    await scene.settled();
    await at.must('PATCH', `/contacts/${has.contact}`, { unsubscribed: true });
    scene.clock.advance(DAY);
    await scene.settled();
    expect(arrived(scene, 'Thanks')).toHaveLength(1);
    expect(await at.run(id)).toMatchObject({
      status: 'completed',
      by: { a: { output: { skipped: 'topic_opt_out' } }, c: { output: { skipped: 'unsubscribed' } } },
    });
  });

  it('skips an email to a suppressed address, and continues', async () => {
    await at.must('POST', '/suppressions', { email: 'ada@example.org' });
    const id = await at.automate(mail('m', has), step('add', 'add_to_segment', { segment_id: has.segment }));
    await at.send({ product: 'Tea' });
    await scene.settled();
    expect(await at.run(id)).toMatchObject({
      status: 'completed',
      by: { m: { output: { skipped: 'suppressed' } }, add: { status: 'completed' } },
    });
    expect(scene.sink.messages).toEqual([]);
  });

  it('does not wait for a time that has passed already', async () => {
    const until = new Date(scene.clock.now() + HOUR).toISOString();
    const id = await at.automate(step('until', 'delay', { until }), mail('m', has));
    scene.clock.advance(DAY);
    await at.send({ product: 'Tea' });
    await scene.settled();
    expect(await at.run(id)).toMatchObject({ status: 'completed' });
    expect(arrived(scene, 'Thanks')).toEqual(['ada@example.org']);
  });

  it('continues to its end when its event is deleted meanwhile', async () => {
    const id = await at.automate(wait('later'), mail('m', has));
    await at.send({ product: 'Tea' });
    await scene.settled();
    await at.must('DELETE', '/events/order');
    scene.clock.advance(DAY);
    await scene.settled();
    expect(await at.run(id)).toMatchObject({ status: 'completed' });
    expect(arrived(scene, 'Thanks')).toEqual(['ada@example.org']);
  });

  it('fails at a step that can never be done, with the step and the reason', async () => {
    const id = await at.automate(wait('later'), mail('gone', has), mail('after', has));
    await at.send({ product: 'Tea' });
    await scene.settled();
    await at.must('DELETE', `/templates/${has.template}`);
    scene.clock.advance(DAY);
    await scene.settled();
    const run = await at.run(id);
    const message = `The template ${has.template} was not found in this team.`;
    expect(run).toMatchObject({
      status: 'failed',
      by: { gone: { status: 'failed', error: { message } }, after: { status: 'skipped' } },
    });
    const [, failed] = await scene.events(run.id);
    expect(failed).toMatchObject({ type: 'automation.run.failed' });
    const row = await scene.app.world.db.get('select error from automation_runs where id = ?', [run.id]);
    expect(row).toEqual({ error: `gone: ${message}` });
  });

  it('has no current step after it was stopped while waiting', async () => {
    const id = await at.automate(wait('later'));
    await at.send();
    await scene.settled();
    await at.must('POST', `/automations/${id}/stop`);
    expect(await at.run(id)).toMatchObject({ status: 'cancelled', by: { later: { status: 'skipped' } } });
  });

  it('fails when its event has no number for a number variable', async () => {
    const id = await at.automate(mail('m', has, { PRODUCT: 'Tea', TOTAL: { var: 'event.total' } }));
    await at.send({ total: '' });
    await scene.settled();
    expect(await at.run(id)).toMatchObject({
      status: 'failed',
      by: { m: { error: { message: expect.stringContaining('TOTAL') } } },
    });
    await at.send({ total: '12.5' });
    await scene.settled();
    expect(await at.run(id)).toMatchObject({ status: 'completed' });
  });

  it('fails when its event lacks a variable that its template needs', async () => {
    const id = await at.automate(mail('m', has));
    await at.send();
    await scene.settled();
    expect(await at.run(id)).toMatchObject({
      status: 'failed',
      by: { m: { error: { message: expect.stringContaining('PRODUCT is missing') } } },
    });
  });

  it('waits until its domain is verified again', async () => {
    const id = await at.automate(mail('m', has));
    const { db } = scene.app.world;
    await db.run("update domains set status = 'pending', verified_at = null where team_id = ?", [has.team.id]);
    await at.send({ product: 'Tea' });
    await scene.settled();
    expect(await at.run(id)).toMatchObject({
      status: 'running',
      started_at: expect.any(String),
      by: {
        m: {
          status: 'waiting',
          output: {
            reason: expect.stringMatching(/^The domain .+ is not verified for sending\.$/),
            until: new Date(scene.clock.now() + 5 * MINUTE).toISOString(),
          },
        },
      },
    });
    await db.run("update domains set status = 'verified', verified_at = 1 where team_id = ?", [has.team.id]);
    scene.clock.advance(5 * MINUTE);
    await scene.settled();
    expect(arrived(scene, 'Thanks')).toHaveLength(1);
    expect(await at.run(id)).toMatchObject({ status: 'completed' });
  });

  it('happens once for each of hundreds of contacts, also across stops', async () => {
    const id = await at.automate(mail('m', has), step('add', 'add_to_segment', { segment_id: has.segment }));
    const contacts = await Promise.all(
      Array.from(
        { length: 60 },
        async (_, i) => (await at.must('POST', '/contacts', { email: `c${i}@one.example` })).id,
      ),
    );
    for (const [i, contact] of contacts.entries()) {
      await at.send({ product: 'Tea' }, contact as string);
      if (i % 20 === 19) await scene.restart();
    }
    await scene.settled();
    expect(arrived(scene, 'Thanks').sort()).toEqual(contacts.map((_, i) => `c${i}@one.example`).sort());
    const sql = 'select status, count(*) as n from automation_runs where automation_id = ? group by status';
    const rows = await scene.app.world.db.all<{ status: string; n: number }>(sql, [id]);
    expect(rows.map(({ status, n }) => [status, Number(n)])).toEqual([['completed', 60]]);
  });
});

it('a run waits for an exhausted quota, and then sends its email once', async () => {
  await using scene = await startScene({ config: { plans: { standard: { daily_cap: 1 } } } });
  const has = await supply(scene);
  const at = desk(scene, has);
  const id = await at.automate(mail('one', has), mail('two', has));
  await at.send({ product: 'Tea' });
  await scene.settled();
  expect(await at.run(id)).toMatchObject({
    status: 'running',
    by: {
      one: { status: 'completed' },
      two: { status: 'waiting', output: { reason: expect.stringContaining('emails a day') } },
    },
  });
  scene.clock.advance(DAY);
  await scene.settled();
  expect(await at.run(id)).toMatchObject({
    status: 'completed',
    by: { two: { status: 'completed', output: { email_id: expect.any(String) } } },
  });
  expect(arrived(scene, 'Thanks')).toHaveLength(2);
});
