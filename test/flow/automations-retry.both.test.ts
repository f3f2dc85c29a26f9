// runs that failed at a step --> the step is repeated or left out, for one run or page by page
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { start, step, supply, wait, type Supplies } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { arrived, desk, mail } from './automations-desk.ts';

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

/** Publishes the template with a fallback for the variable that the payloads of these tests lack. */
async function mendTemplate(): Promise<void> {
  const variables = [
    { key: 'PRODUCT', type: 'string', fallback_value: 'Tea' },
    { key: 'TOTAL', type: 'number', fallback_value: 0 },
  ];
  await at.must('PATCH', `/templates/${has.template}`, { variables });
  await at.must('POST', `/templates/${has.template}/publish`);
}

/** Sends the event without what the template asks for, so that the run fails at the step `thanks`. */
async function fail(contact = has.contact): Promise<void> {
  await at.send({}, contact);
  await scene.settled();
}

const refused = (text: string) => ({ status: 422, body: { name: 'validation_error', message: text } });
const retry = (automation: string, run: string) => at.call('POST', `/automations/${automation}/runs/${run}/retry`);
const skipStep = (automation: string, run: string, body?: object) =>
  at.call('POST', `/automations/${automation}/runs/${run}/skip`, body);
const retryFailed = (automation: string, body: object) => at.call('POST', `/automations/${automation}/retry`, body);

describe('a failed run', () => {
  it('sends its email once when it is retried after its template was mended', async () => {
    const id = await at.automate(mail('thanks', has), step('name', 'contact_update', { first_name: 'Ada' }));
    await fail();
    const failed = await at.run(id);
    expect(failed).toMatchObject({
      status: 'failed',
      by: { thanks: { status: 'failed' }, name: { status: 'skipped' } },
    });
    await mendTemplate();
    const answers = await Promise.all(Array.from({ length: 4 }, () => retry(id, failed.id)));
    const done = answers.filter(({ status }) => status === 200);
    expect(done).toMatchObject([{ body: { object: 'automation_run', id: failed.id, status: 'running' } }]);
    await scene.settled();
    expect(await at.run(id)).toMatchObject({
      id: failed.id,
      status: 'completed',
      error: null,
      by: { thanks: { status: 'completed', error: null }, name: { status: 'completed' } },
    });
    expect(arrived(scene, 'Thanks')).toEqual(['ada@example.org']);
    const told = await scene.events(failed.id);
    expect(told.map(({ type }) => type)).toEqual([
      'automation.run.started',
      'automation.run.failed',
      'automation.run.completed',
    ]);
    expect(await retry(id, failed.id)).toMatchObject(
      refused('The run is completed; only a failed run can be continued.'),
    );
  });

  it('fails again when the cause is still there, and can be retried again', async () => {
    const id = await at.automate(mail('thanks', has));
    await fail();
    const { id: run } = await at.run(id);
    expect(await retry(id, run)).toMatchObject({ status: 200 });
    await scene.settled();
    expect(await at.run(id)).toMatchObject({ status: 'failed', by: { thanks: { status: 'failed' } } });
    await mendTemplate();
    expect(await retry(id, run)).toMatchObject({ status: 200 });
    await scene.settled();
    expect(await at.run(id)).toMatchObject({ status: 'completed' });
    expect(arrived(scene, 'Thanks')).toEqual(['ada@example.org']);
  });

  it('goes on without the step when that is skipped, and shows the step as skipped with its error', async () => {
    const id = await at.automate(mail('thanks', has), step('name', 'contact_update', { first_name: 'Ada' }));
    await fail();
    const { id: run } = await at.run(id);
    expect(await skipStep(id, run)).toMatchObject({ status: 200, body: { id: run, status: 'running' } });
    await scene.settled();
    expect(await at.run(id)).toMatchObject({
      status: 'completed',
      by: { thanks: { status: 'skipped', error: { message: expect.any(String) } }, name: { status: 'completed' } },
    });
    expect(await at.get(`/contacts/${has.contact}`)).toMatchObject({ first_name: 'Ada' });
    expect(arrived(scene, 'Thanks')).toEqual([]);
  });

  it('is completed when its last step is skipped', async () => {
    const id = await at.automate(mail('thanks', has));
    await fail();
    const { id: run } = await at.run(id);
    expect(await skipStep(id, run)).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect(await at.run(id)).toMatchObject({ status: 'completed', error: null, by: { thanks: { status: 'skipped' } } });
    const told = await scene.events(run);
    expect(told.map(({ type }) => type).at(-1)).toBe('automation.run.completed');
  });

  it('takes the branch that is named when its condition is skipped', async () => {
    const property = (await at.must('POST', '/contact-properties', { key: 'gone', type: 'string' })).id as string;
    const rule = { type: 'rule', field: 'properties.gone', operator: 'exists' };
    const { id } = await at.must('POST', '/automations', {
      name: 'Branched',
      status: 'enabled',
      steps: [start, step('if', 'condition', rule), step('no', 'contact_update', { first_name: 'No' })],
      connections: [
        { from: 'start', to: 'if' },
        { from: 'if', to: 'no', type: 'condition_not_met' },
      ],
    });
    await at.must('DELETE', `/contact-properties/${property}`);
    await fail();
    const { id: run } = await at.run(id);
    expect(await skipStep(id, run)).toMatchObject(
      refused('The step if is a condition; name the branch to take: condition_met or condition_not_met.'),
    );
    expect(await skipStep(id, run, { branch: 'default' })).toMatchObject({ status: 400 });
    expect(await skipStep(id, run, { branch: 'condition_not_met' })).toMatchObject({ status: 200 });
    await scene.settled();
    expect(await at.get(`/contacts/${has.contact}`)).toMatchObject({ first_name: 'No' });
  });

  it('cannot be continued while its automation is disabled, nor after its contact was deleted', async () => {
    const id = await at.automate(mail('thanks', has));
    await fail();
    const { id: run } = await at.run(id);
    await at.must('POST', `/automations/${id}/stop`);
    const disabled = 'The automation is disabled, so none of its runs can be continued; enable it first.';
    expect(await retry(id, run)).toMatchObject(refused(disabled));
    expect(await skipStep(id, run)).toMatchObject(refused(disabled));
    expect(await retryFailed(id, { step_key: 'thanks' })).toMatchObject(refused(disabled));
    await at.must('PATCH', `/automations/${id}`, { status: 'enabled' });
    await at.must('DELETE', `/contacts/${has.contact}`);
    expect(await retry(id, run)).toMatchObject(refused('The contact of the run was deleted.'));
    expect(await at.run(id)).toMatchObject({ status: 'failed' });
  });

  it('is not retried while its contact has another run in progress and reentry is when_ended', async () => {
    const id = await at.automate(mail('thanks', has), wait('w'));
    await at.must('PATCH', `/automations/${id}`, { reentry: 'when_ended' });
    await fail();
    const { id: run } = await at.run(id);
    await at.send({ product: 'Tea' });
    await scene.settled();
    expect(await retry(id, run)).toMatchObject(
      refused('The contact has another run in progress, and reentry is when_ended.'),
    );
  });

  it('is not found under another automation or in another team', async () => {
    const id = await at.automate(mail('thanks', has));
    const other = await at.automate(wait('w'));
    await fail();
    const { id: run } = await at.run(id);
    expect(await retry(other, run)).toMatchObject({ status: 404, body: { message: 'Run not found.' } });
    const stranger = await supply(scene);
    const path = `/automations/${id}/runs/${run}/retry`;
    expect(await scene.api('POST', path, { key: stranger.team.key })).toMatchObject({ status: 404 });
  });
});

describe('a step that was completed', () => {
  it('is not repeated, even if its run is recorded as failed at it or is at it again', async () => {
    const id = await at.automate(mail('thanks', has));
    await at.send({ product: 'Tea' });
    await scene.settled();
    const run = await at.run(id);
    const { db } = scene.app.world;
    await db.run("update automation_runs set status = 'failed', step_key = 'thanks' where id = ?", [run.id]);
    expect(await retry(id, run.id)).toMatchObject(
      refused('The step thanks was completed before the run failed, so it is not repeated; skip it instead.'),
    );
    const again =
      "update automation_runs set status = 'running', completed_at = null, step_key = 'thanks' where id = ?";
    await db.tx((tx) => tx.run(again, [run.id]));
    await scene.settled();
    expect(await at.run(id)).toMatchObject({
      status: 'failed',
      error: 'thanks: The step was completed before, so it is not repeated.',
      by: { thanks: { status: 'completed', output: run.by['thanks']?.output } },
    });
    expect(arrived(scene, 'Thanks')).toEqual(['ada@example.org']);
    expect(await at.get('/emails')).toMatchObject({ data: [{ id: run.by['thanks']?.output?.['email_id'] }] });
  });
});

describe('POST /automations/{automation_id}/retry', () => {
  const contacts = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let n = 0; n < count; n++)
      ids.push((await at.must('POST', '/contacts', { email: `c${n}@example.org` })).id as string);
    return ids;
  };

  it('continues all runs that failed at the step, page by page, and no others', async () => {
    const first = step('known', 'condition', { type: 'rule', field: 'first_name', operator: 'exists' });
    const { id } = await at.must('POST', '/automations', {
      name: 'A',
      status: 'enabled',
      steps: [start, first, mail('thanks', has), mail('other', has)],
      connections: [
        { from: 'start', to: 'known' },
        { from: 'known', to: 'other', type: 'condition_met' },
        { from: 'known', to: 'thanks', type: 'condition_not_met' },
      ],
    });
    const all = await contacts(5);
    await at.must('PATCH', `/contacts/${all[1]}`, { first_name: 'Bob' });
    for (const contact of all) await fail(contact);
    await mendTemplate();
    await at.must('DELETE', `/contacts/${all[3]}`);
    const pages: { continued: number; refused: { message: string }[]; next: string | null }[] = [];
    for (let after: string | null | undefined; after !== null && pages.length < 9;) {
      const { body } = await retryFailed(id, { step_key: 'thanks', limit: 2, ...(after && { after }) });
      pages.push(body as never);
      after = pages.at(-1)?.next;
    }
    expect(pages.map(({ continued }) => continued)).toEqual([1, 1, 1]);
    expect(pages.flatMap((page) => page.refused)).toMatchObject([{ message: 'The contact of the run was deleted.' }]);
    await scene.settled();
    expect(arrived(scene, 'Thanks').sort()).toEqual(['c0@example.org', 'c2@example.org', 'c4@example.org']);
    expect((await at.get(`/automations/${id}`)).runs).toMatchObject({ completed: 3, failed: 2 });
  });

  it('skips the step of all runs that failed at it', async () => {
    const id = await at.automate(mail('thanks', has), step('name', 'contact_update', { last_name: 'Skipped' }));
    for (const contact of await contacts(3)) await fail(contact);
    expect(await retryFailed(id, { step_key: 'thanks', action: 'skip' })).toMatchObject({
      status: 200,
      body: { object: 'automation_retry', continued: 3, refused: [], next: null },
    });
    await scene.settled();
    expect((await at.get(`/automations/${id}`)).runs).toMatchObject({ completed: 3, failed: 0 });
    expect(arrived(scene, 'Thanks')).toEqual([]);
  });

  it.each([
    [{}, 422, 'missing_required_field'],
    [{ step_key: '' }, 400, 'validation_error'],
    [{ step_key: 'x', limit: 101 }, 400, 'validation_error'],
    [{ step_key: 'x', action: 'repeat' }, 400, 'validation_error'],
    [{ step_key: 'x', after: 'first' }, 400, 'validation_error'],
  ])('refuses the body %j with %i', async (body, status, name) => {
    const id = await at.automate(wait('w'));
    expect(await retryFailed(id, body)).toMatchObject({ status, body: { name } });
  });

  it('continues nothing for a step at which no run failed', async () => {
    const id = await at.automate(mail('thanks', has));
    await fail();
    expect((await retryFailed(id, { step_key: 'start' })).body).toMatchObject({
      continued: 0,
      refused: [],
      next: null,
    });
    expect(await at.run(id)).toMatchObject({ status: 'failed' });
  });
});
