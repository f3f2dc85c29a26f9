import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { removeOldEnrolments } from '../../../src/features/automations/start.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { line, start, step, supply, wait, type Supplies } from './graph.ts';

const DAY = 24 * 3_600_000;

let scene: Scene;
let has: Supplies;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());
beforeEach(async () => {
  has = await supply(scene);
});

const call = (method: string, path: string, body?: unknown, key = has.team.key) =>
  scene.api(method, path, { key, ...(body === undefined ? {} : { body }) });
const must = async (method: string, path: string, body?: unknown) => {
  const answer = await call(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body;
};
const make = async (more: object = {}): Promise<string> =>
  (await must('POST', '/automations', { name: 'A', status: 'enabled', ...line(start, wait('w')), ...more })).id;
const enrol = (id: string, body: object) => call('POST', `/automations/${id}/runs`, body);
const send = (contact = has.contact) => must('POST', '/events/send', { event: 'order', contact_id: contact });
const listRuns = async (id: string, query = ''): Promise<{ id: string; contact_id: string; status: string }[]> =>
  (await must('GET', `/automations/${id}/runs${query}`)).data;
const explain = (id: string, contact: string) =>
  must('GET', `/automations/${id}/enrolment?contact=${encodeURIComponent(contact)}`);
const now = () => new Date(scene.clock.now()).toISOString();
const refusal = (text: string) => ({
  status: 422,
  body: { name: 'validation_error', message: `No run was started. ${text}` },
});

describe('POST /automations/{automation_id}/runs', () => {
  it('starts a run for a contact that is named by its id or by its address, with the payload', async () => {
    const id = await make();
    const byId = await enrol(id, { contact_id: has.contact, payload: { product: 'Tea' } });
    expect(byId).toMatchObject({ status: 201, body: { object: 'automation_run' } });
    const byAddress = await enrol(id, { email: 'ADA@example.org' });
    expect(await listRuns(id)).toMatchObject([
      { id: byAddress.body.id, contact_id: has.contact, status: 'running' },
      { id: byId.body.id, contact_id: has.contact, status: 'running' },
    ]);
    const sql = 'select payload from automation_runs where id = ?';
    const row = await scene.app.world.db.get<{ payload: string }>(sql, [byId.body.id]);
    expect(JSON.parse(row?.payload ?? '')).toEqual({ product: 'Tea' });
  });

  it('an enrolment warns of variables of the event that the steps read and the payload lacks', async () => {
    const variables = { PRODUCT: { var: 'event.product' }, TOTAL: { var: 'event.total' } };
    const mail = step('mail', 'send_email', { template: { id: has.template, variables } });
    const id = await make(line(start, wait('w'), mail));
    expect((await enrol(id, { contact_id: has.contact, payload: { total: 3 } })).body.warnings).toEqual([
      'The steps read event.product, which the payload does not have; the fallback of the template applies, or the step fails.',
    ]);
    const whole = await enrol(id, { contact_id: has.contact, payload: { product: 'Tea', total: 3 } });
    expect(whole.body).toEqual({ object: 'automation_run', id: whole.body.id });
  });

  it('refuses a disabled automation, an unknown one, one of another team and an unknown contact', async () => {
    const id = await make({ status: 'disabled' });
    expect(await enrol(id, { email: 'ada@example.org' })).toMatchObject(
      refusal('The automation is disabled; enable it first.'),
    );
    const missing = { status: 404, body: { message: 'Automation not found.' } };
    expect(await enrol(scene.app.world.ids.uuid(), { email: 'ada@example.org' })).toMatchObject(missing);
    const other = await supply(scene);
    const ofOther = await call('POST', `/automations/${id}/runs`, { email: 'ada@example.org' }, other.team.key);
    expect(ofOther).toMatchObject(missing);
    const enabled = await make();
    const unknown = { status: 404, body: { message: 'Contact not found.' } };
    expect(await enrol(enabled, { email: 'bob@example.org' })).toMatchObject(unknown);
    expect(await enrol(enabled, { contact_id: other.contact })).toMatchObject(unknown);
    expect(await listRuns(enabled)).toEqual([]);
  });

  it('refuses a body that names no contact or two, and a payload that the event of the trigger would refuse', async () => {
    const id = await make();
    expect(await enrol(id, {})).toMatchObject({ status: 422, body: { name: 'missing_required_field' } });
    expect(await enrol(id, { email: 'ada@example.org', contact_id: has.contact })).toMatchObject({
      status: 422,
      body: { name: 'validation_error' },
    });
    const large = await enrol(id, { email: 'ada@example.org', payload: { text: 'x'.repeat(17_000) } });
    expect(large).toMatchObject({
      status: 422,
      body: { message: expect.stringMatching(/^payload may have at most 16384 bytes/) },
    });
    await must('PATCH', '/events/order', { schema: { total: 'number' } });
    const wrong = await enrol(id, { email: 'ada@example.org', payload: { total: '40' } });
    expect(wrong).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'payload.total', message: expect.stringContaining('must be a number') }] },
    });
    expect(await listRuns(id)).toEqual([]);
  });

  it.each([
    ['when_ended', 'The contact has a run in progress, and reentry is when_ended.'],
    ['never', 'The contact has entered the automation before, and reentry is never.'],
  ])('starts one run of many at once when reentry is %s, and gives the reason', async (reentry, reason) => {
    const id = await make({ reentry });
    const answers = await Promise.all(Array.from({ length: 8 }, () => enrol(id, { contact_id: has.contact })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 201) expect(answer).toMatchObject(refusal(reason));
    expect(await listRuns(id)).toHaveLength(1);
  });
});

describe('GET /automations/{automation_id}/runs with contact', () => {
  it('lists the runs of one contact, by its id or address, with a status and in pages', async () => {
    const id = await make();
    const bob = (await must('POST', '/contacts', { email: 'bob@example.org' })).id as string;
    for (const contact of [has.contact, bob, has.contact, bob]) await send(contact);
    const ofBob = await listRuns(id, `?contact=${bob}`);
    expect(ofBob.map((run) => run.contact_id)).toEqual([bob, bob]);
    expect(await listRuns(id, '?contact=bob@example.org')).toEqual(ofBob);
    expect(await listRuns(id, `?contact=${bob}&limit=1&after=${ofBob[0]?.id}`)).toEqual(ofBob.slice(1));
    expect(await listRuns(id, `?contact=${bob}&status=completed,failed`)).toEqual([]);
    expect(await listRuns(id, `?contact=${bob}&status=running`)).toEqual(ofBob);
    await must('DELETE', `/contacts/${bob}`);
    expect(await listRuns(id, `?contact=${bob}`)).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }]);
    expect(await call('GET', `/automations/${id}/runs?contact=bob@example.org`)).toMatchObject({ status: 404 });
    expect(await call('GET', `/automations/${id}/runs?contact=bob`)).toMatchObject({
      status: 422,
      body: { name: 'invalid_parameter' },
    });
  });
});

describe('GET /automations/{automation_id}/enrolment', () => {
  it('says that a contact may enter, and shows its latest run', async () => {
    const id = await make();
    expect(await explain(id, has.contact)).toEqual({
      object: 'automation_enrolment',
      automation_id: id,
      contact_id: has.contact,
      may_start: true,
      obstacles: [],
      date: null,
      mail_excluded: null,
      latest_run: null,
      refusals: [],
    });
    await send();
    const [run] = await listRuns(id);
    expect(await explain(id, 'ada@example.org')).toMatchObject({ may_start: true, latest_run: run });
  });

  it('counts events that started no run because of reentry, with the first and the last time', async () => {
    const id = await make({ reentry: 'when_ended' });
    await send();
    await send();
    const first = now();
    scene.clock.advance(1000);
    await send();
    expect(await explain(id, has.contact)).toMatchObject({
      may_start: false,
      obstacles: [{ reason: 'in_progress' }],
      refusals: [{ reason: 'in_progress', times: 2, first_at: first, last_at: now() }],
    });
    await must('PATCH', `/automations/${id}`, { reentry: 'never' });
    scene.clock.advance(1000);
    await send();
    const { refusals, obstacles } = await explain(id, has.contact);
    expect(obstacles).toMatchObject([{ reason: 'entered_before' }]);
    expect(refusals).toMatchObject([{ reason: 'entered_before' }, { reason: 'in_progress' }]);
  });

  it('counts events that came while the automation was disabled, unless it was never enabled', async () => {
    const id = await make();
    const draft = await make({ status: 'disabled' });
    await must('PATCH', `/automations/${id}`, { status: 'disabled' });
    await send();
    expect(await explain(id, has.contact)).toMatchObject({
      may_start: false,
      obstacles: [{ reason: 'disabled', message: 'The automation is disabled; enable it first.' }],
      refusals: [{ reason: 'disabled', message: 'The automation was disabled.', times: 1 }],
    });
    expect(await explain(draft, has.contact)).toMatchObject({ obstacles: [{ reason: 'disabled' }], refusals: [] });
    await must('PATCH', `/automations/${id}`, { status: 'enabled' });
    await send();
    expect(await explain(id, has.contact)).toMatchObject({ may_start: true, refusals: [{ times: 1 }] });
    await must('POST', `/automations/${id}/stop`);
    await send();
    expect(await explain(id, has.contact)).toMatchObject({ refusals: [{ reason: 'disabled', times: 2 }] });
  });

  it('shows what was wrong with the payload of an event that was refused', async () => {
    const id = await make();
    await must('PATCH', '/events/order', { schema: { total: 'number' } });
    const body = { event: 'order', email: 'ada@example.org', payload: { total: 'x' } };
    expect(await call('POST', '/events/send', body)).toMatchObject({ status: 422 });
    expect(await call('POST', '/events/send', { ...body, email: 'bob@example.org' })).toMatchObject({ status: 422 });
    expect(await explain(id, has.contact)).toMatchObject({
      may_start: true,
      refusals: [{ reason: 'payload', message: expect.stringContaining('payload.total must be a number'), times: 1 }],
    });
  });

  it('says that an unsubscribed contact gets no mail, although it may enter', async () => {
    const id = await make();
    await must('PATCH', `/contacts/${has.contact}`, { unsubscribed: true });
    expect(await explain(id, has.contact)).toMatchObject({ may_start: true, mail_excluded: 'unsubscribed' });
  });

  it('keeps nothing about a deleted contact except that it was deleted', async () => {
    const id = await make({ reentry: 'when_ended' });
    await send();
    await send();
    await must('DELETE', `/contacts/${has.contact}`);
    expect(await explain(id, has.contact)).toMatchObject({
      may_start: false,
      obstacles: [{ reason: 'deleted' }],
      refusals: [],
    });
    expect(await call('GET', `/automations/${id}/enrolment?contact=ada@example.org`)).toMatchObject({ status: 404 });
    expect(await call('GET', `/automations/${id}/enrolment?contact=${scene.app.world.ids.uuid()}`)).toMatchObject({
      status: 404,
    });
    expect(await call('GET', `/automations/${id}/enrolment`)).toMatchObject({
      status: 422,
      body: { name: 'missing_required_parameter' },
    });
  });

  it('forgets refusals thirty days after the latest event', async () => {
    const id = await make({ reentry: 'when_ended' });
    await send();
    await send();
    scene.clock.advance(30 * DAY - 1);
    await removeOldEnrolments(scene.app.world);
    expect((await explain(id, has.contact)).refusals).toHaveLength(1);
    scene.clock.advance(1);
    await removeOldEnrolments(scene.app.world);
    expect((await explain(id, has.contact)).refusals).toEqual([]);
  });

  it('an automation that is deleted leaves no refusals', async () => {
    const id = await make({ reentry: 'when_ended' });
    await send();
    await send();
    await must('DELETE', `/automations/${id}`);
    const sql = 'select * from automation_refusals where automation_id = ?';
    expect(await scene.app.world.db.all(sql, [id])).toEqual([]);
  });
});
