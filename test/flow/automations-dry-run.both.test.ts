// a contact that is taken through an automation on a moved clock --> what each step would do; no row of any table changes
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tableShapes } from '../../src/platform/db/index.ts';
import { setSending } from '../../src/tenancy/instance/index.ts';
import { line, start, step, supply, wait, type Supplies } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { desk, mail } from './automations-desk.ts';
import { POSTAL_ADDRESS } from './campaign.ts';
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
  scene.sink.messages.length = 0;
});

const dryRun = (id: string, body: object = {}) =>
  at.call('POST', `/automations/${id}/dry-run`, { contact_id: has.contact, ...body });
const inMs = (ms: number) => new Date(scene.clock.now() + ms).toISOString();

/** Tables that record every request, whatever it does. */
const OF_REQUESTS = new Set(['request_logs', 'api_keys', 'rate_limits']);

/** Returns the rows of all tables, as text. */
async function readEverything(): Promise<Record<string, string>> {
  const { db } = scene.app.world;
  const all: Record<string, string> = {};
  for (const { name } of await tableShapes(db)) {
    if (OF_REQUESTS.has(name)) continue;
    const rows = (await db.all(`select * from ${name}`)).map((row) => JSON.stringify(row));
    all[name] = rows.sort().join('\n');
  }
  return all;
}

describe('POST /automations/{automation_id}/dry-run', () => {
  /** A welcome with a branch for each kind of contact. */
  const makeWelcome = async (): Promise<string> => {
    const plan = step('plan', 'condition', {
      type: 'and',
      rules: [
        { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'pro' },
        { type: 'rule', field: 'first_name', operator: 'exists' },
      ],
    });
    const { id } = await at.must('POST', '/automations', {
      name: 'Welcome',
      steps: [
        start,
        mail(
          'thanks',
          has,
          { PRODUCT: { var: 'event.product' } },
          { subject: 'Thanks for {{{PRODUCT}}}, {{{FIRST_NAME|you}}}' },
        ),
        wait('week', '1 week'),
        plan,
        step('add', 'add_to_segment', { segment_id: has.segment }),
        step('news', 'topic_update', { topic_id: has.topic, subscription: 'opt_in' }),
        step('name', 'contact_update', { last_name: 'Byron', properties: { seats: 3 } }),
      ],
      connections: [
        { from: 'start', to: 'thanks' },
        { from: 'thanks', to: 'week' },
        { from: 'week', to: 'plan' },
        { from: 'plan', to: 'add', type: 'condition_met' },
        { from: 'plan', to: 'name', type: 'condition_not_met' },
        { from: 'add', to: 'news' },
      ],
    });
    return id as string;
  };

  it('shows each step with its time, the branch and why, and the subject, without changing a row of any table', async () => {
    const id = await makeWelcome();
    await at.must('PATCH', `/contacts/${has.contact}`, { first_name: 'Ada', properties: { plan: 'pro' } });
    await scene.settled();
    const before = await readEverything();
    const { status, body } = await dryRun(id, { payload: { product: 'Tea' } });
    await scene.settled();
    expect(await readEverything()).toEqual(before);
    expect(scene.sink.messages).toEqual([]);
    const nothing = { until: null, branch: null, subject: null, stream: null, reason: null };
    const [now, later] = [inMs(0), inMs(7 * DAY)];
    expect([status, body]).toEqual([
      200,
      {
        object: 'automation_dry_run',
        automation_id: id,
        contact_id: has.contact,
        may_start: false,
        obstacles: [{ reason: 'disabled', message: 'The automation is disabled; enable it first.' }],
        status: 'completed',
        starts_at: now,
        ends_at: later,
        steps: [
          { ...nothing, key: 'start', type: 'trigger', at: now, outcome: 'done' },
          {
            ...nothing,
            key: 'thanks',
            type: 'send_email',
            at: now,
            outcome: 'sends',
            subject: 'Thanks for Tea, Ada',
            stream: 'transactional',
          },
          { ...nothing, key: 'week', type: 'delay', at: now, outcome: 'waits', until: later },
          {
            ...nothing,
            key: 'plan',
            type: 'condition',
            at: later,
            outcome: 'done',
            branch: 'condition_met',
            reason: 'properties.plan eq "pro" is met: it is "pro"; first_name exists is met: it is "Ada"',
          },
          {
            ...nothing,
            key: 'add',
            type: 'add_to_segment',
            at: later,
            outcome: 'done',
            reason: 'Adds the contact to the segment Buyers.',
          },
          {
            ...nothing,
            key: 'news',
            type: 'topic_update',
            at: later,
            outcome: 'done',
            reason: 'Opts in to the topic News.',
          },
        ],
        unreadable_dates: null,
        not_reached: ['name'],
      },
    ]);
  });

  it('takes the other branch for a contact without the values, and says so', async () => {
    const id = await makeWelcome();
    const { body } = await dryRun(id, { payload: { product: 'Tea' } });
    expect(body.steps.at(-2)).toMatchObject({
      branch: 'condition_not_met',
      reason: 'properties.plan eq "pro" is not met: it has no value; first_name exists is not met: it has no value',
    });
    expect(body.steps.at(-1)).toMatchObject({ key: 'name', reason: 'Sets last_name to "Byron", seats to 3.' });
    expect(body.not_reached).toEqual(['add', 'news']);
  });

  it('uses the present values of the contact although an earlier step would change them', async () => {
    const named = step('named', 'condition', { type: 'rule', field: 'first_name', operator: 'exists' });
    const { id } = await at.must('POST', '/automations', {
      name: 'A',
      steps: [start, step('name', 'contact_update', { first_name: 'Ada' }), named],
      connections: line(start, step('name', '', {}), named).connections,
    });
    expect((await dryRun(id)).body.steps.at(-1)).toMatchObject({ branch: 'condition_not_met' });
  });

  it('agrees with a real run of the same contact and payload', async () => {
    const id = await makeWelcome();
    await at.must('PATCH', `/automations/${id}`, { status: 'enabled' });
    const dry = (await dryRun(id, { payload: { product: 'Tea' } })).body;
    expect(dry).toMatchObject({ may_start: true, obstacles: [] });
    await at.send({ product: 'Tea' });
    await scene.settled();
    scene.clock.advance(7 * DAY);
    await scene.settled();
    const run = await at.get(`/automations/${id}/runs/${(await at.run(id)).id}`);
    const done = (run.steps as { key: string; status: string }[]).filter(({ status }) => status === 'completed');
    expect(done.map(({ key }) => key)).toEqual(dry.steps.map(({ key }: { key: string }) => key));
    expect(run.completed_at).toBe(dry.ends_at);
    const emails = (await at.get('/emails')).data as { subject: string }[];
    expect(emails.map(({ subject }) => subject)).toEqual(['Thanks for Tea, you']);
  });

  it('shows a contact that is skipped, mail that would wait, and a step that would fail', async () => {
    await at.must('PATCH', '/team', { sender_name: 'Example Ltd', postal_address: POSTAL_ADDRESS });
    const id = await at.automate(
      mail('one', has, { PRODUCT: 'Tea' }, { stream: 'marketing' }),
      mail('two', has, { PRODUCT: { var: 'event.product' } }),
      wait('never'),
    );
    const rows = async () => (await dryRun(id)).body.steps as object[];
    await setSending(scene.app.world, { isOn: false, reason: 'test' }, 'sending.marketing');
    expect(await rows()).toMatchObject([
      { key: 'start' },
      { outcome: 'sends', stream: 'marketing', reason: 'Marketing mail is switched off on this installation (test).' },
      { outcome: 'fails', reason: expect.stringContaining('PRODUCT') },
    ]);
    await setSending(scene.app.world, { isOn: true }, 'sending.marketing');
    await at.must('PATCH', `/contacts/${has.contact}`, { unsubscribed: true });
    const { body } = await dryRun(id);
    expect(body).toMatchObject({ status: 'failed', not_reached: ['never'] });
    expect(body.steps[1]).toMatchObject({ outcome: 'skips', reason: 'The contact is skipped: unsubscribed.' });
  });

  it('starts at a given time, and a delay until an earlier time ends at once', async () => {
    const id = await at.automate(step('w', 'delay', { until: inMs(DAY) }), wait('x', '2 days'));
    const { body } = await dryRun(id, { starts_at: inMs(3 * DAY) });
    expect(body.steps.map((one: { at: string }) => one.at)).toEqual([inMs(3 * DAY), inMs(3 * DAY), inMs(3 * DAY)]);
    expect(body.ends_at).toBe(inMs(5 * DAY));
    for (const wrong of [inMs(-1), inMs(733 * DAY), 'tomorrow']) {
      expect(await dryRun(id, { starts_at: wrong })).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    }
  });

  it('refuses a payload that the event would refuse, an unknown contact and one of another team', async () => {
    const id = await makeWelcome();
    await at.must('PATCH', '/events/order', { schema: { total: 'number' } });
    expect(await dryRun(id, { payload: { total: 'x' } })).toMatchObject({ status: 422 });
    const other = await supply(scene);
    expect(await dryRun(id, { contact_id: other.contact })).toMatchObject({ status: 404 });
    const path = `/automations/${id}/dry-run`;
    const ofOther = await scene.api('POST', path, { key: other.team.key, body: { contact_id: other.contact } });
    expect(ofOther).toMatchObject({ status: 404, body: { message: 'Automation not found.' } });
  });
});
