import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { explainQueries, rowsRead } from '../../rig/plans.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { line, start, step, supply, wait, type Supplies } from './graph.ts';

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
const make = async (more: object = {}): Promise<string> => {
  const answer = await call('POST', '/automations', { name: 'Welcome', ...line(start, wait('later')), ...more });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.id as string;
};
const get = async (id: string) => (await call('GET', `/automations/${id}`)).body;
const send = async (): Promise<void> => {
  const answer = await call('POST', '/events/send', { event: 'order', contact_id: has.contact });
  expect(answer.status).toBe(202);
};
const runs = async (id: string, query = ''): Promise<{ id: string; status: string }[]> =>
  (await call('GET', `/automations/${id}/runs${query}`)).body.data;
const now = () => new Date(scene.clock.now()).toISOString();
const missing = { status: 404, body: { name: 'not_found', message: 'Automation not found.' } };

describe('the /automations routes', () => {
  it('create an automation disabled, return it with its graph, and list it without', async () => {
    const id = await make();
    const settings = { name: 'Welcome', status: 'disabled', reentry: 'always', exit_on: [], changed_by_app: null };
    const item = { id, ...settings, created_at: now(), updated_at: now() };
    const graph = line(start, wait('later'));
    expect(await get(id)).toEqual({
      object: 'automation',
      ...item,
      steps: graph.steps,
      connections: [{ from: 'start', to: 'later', type: 'default' }],
      runs: { running: 0, completed: 0, failed: 0, cancelled: 0, counted_to: 10_000, at_steps: [] },
    });
    expect((await call('GET', '/automations')).body).toEqual({ object: 'list', has_more: false, data: [item] });
    const enabled = await make({ name: 'Hello', status: 'enabled' });
    const ids = async (query: string) =>
      ((await call('GET', `/automations?${query}`)).body.data as { id: string }[]).map((one) => one.id);
    expect(await ids('')).toEqual([enabled, id]);
    expect(await ids('status=enabled')).toEqual([enabled]);
    expect(await ids('status=disabled')).toEqual([id]);
    expect(await ids('search=WELC')).toEqual([id]);
    expect(await ids('search=%25')).toEqual([]);
    expect(await ids('search=l&status=enabled')).toEqual([enabled]);
    expect(await ids(`limit=1&after=${enabled}`)).toEqual([id]);
    expect(await ids(`search=l&limit=1`)).toEqual([enabled]);
  });

  it.each(['status=on', 'status=', 'search=', 'search=%20', `search=${'x'.repeat(201)}`, 'limit=0', 'sort=name'])(
    'refuse ?%s',
    async (query) => {
      expect(await call('GET', `/automations?${query}`)).toMatchObject({
        status: 422,
        body: { name: 'invalid_parameter' },
      });
    },
  );

  it.each([
    [{ name: 'x' }, 422, 'missing_required_field'],
    [{ name: 'x', steps: [] }, 422, 'missing_required_field'],
    [{ steps: [], connections: [] }, 422, 'missing_required_field'],
    [{ name: ' ', steps: [], connections: [] }, 400, 'validation_error'],
    [{ name: 'x'.repeat(201), steps: [], connections: [] }, 400, 'validation_error'],
    [{ name: 'x', steps: {}, connections: [] }, 400, 'validation_error'],
    [{ name: 'x', steps: [], connections: [], status: 'on' }, 400, 'validation_error'],
    [{ name: 'x', steps: [], connections: [], version: 2 }, 400, 'validation_error'],
    [{ name: 'x', steps: [], connections: [] }, 422, 'validation_error'],
  ])('refuse the body %j with %i', async (body, status, name) => {
    expect(await call('POST', '/automations', body)).toMatchObject({ status, body: { name } });
  });

  it('store nothing when a graph is refused', async () => {
    await call('POST', '/automations', { name: 'x', ...line(start, wait('a', 'soon')) });
    expect((await call('GET', '/automations')).body.data).toEqual([]);
  });

  it('change only the fields that PATCH names', async () => {
    const id = await make();
    scene.clock.advance(1000);
    expect((await call('PATCH', `/automations/${id}`, { name: 'Hello' })).body).toEqual({ object: 'automation', id });
    expect(await get(id)).toMatchObject({ name: 'Hello', status: 'disabled', updated_at: now() });
    await call('PATCH', `/automations/${id}`, { status: 'enabled' });
    expect(await get(id)).toMatchObject({ name: 'Hello', status: 'enabled', steps: line(start, wait('later')).steps });
    const next = line(start, wait('a'), wait('b'));
    await call('PATCH', `/automations/${id}`, next);
    expect(await get(id)).toMatchObject({ status: 'enabled', steps: next.steps });
  });

  it('refuse a PATCH with an empty body, half a graph, or something that is not a graph', async () => {
    const id = await make();
    const { steps, connections } = line(start, wait('a'));
    const refused: [object, RegExp][] = [
      [{}, /at least one of name, status, reentry, exit_on, and steps with connections/],
      [{ steps }, /steps requires connections/],
      [{ connections, name: 'x' }, /connections requires steps/],
      [{ steps: [null], connections: [], name: 'x' }, /steps\.0 must be an object/],
    ];
    for (const [body, message] of refused) {
      expect(await call('PATCH', `/automations/${id}`, body)).toMatchObject({
        status: 422,
        body: { name: 'validation_error', message: expect.stringMatching(message) },
      });
    }
    expect((await call('PATCH', `/automations/${id}`, { status: 'paused' })).status).toBe(400);
    expect(await get(id)).toMatchObject({ name: 'Welcome', steps: line(start, wait('later')).steps });
  });

  it('duplicate an automation as a disabled, independent copy', async () => {
    const id = await make({ status: 'enabled' });
    const answer = await call('POST', `/automations/${id}/duplicate`);
    expect(answer.status).toBe(201);
    const copy = answer.body.id as string;
    expect(answer.body).toEqual({ object: 'automation', id: copy });
    const { steps, connections } = await get(id);
    expect(await get(copy)).toMatchObject({ name: 'Welcome (copy)', status: 'disabled', steps, connections });
    await send();
    expect([(await runs(id)).length, (await runs(copy)).length]).toEqual([1, 0]);
    await call('PATCH', `/automations/${copy}`, { status: 'enabled' });
    await send();
    expect([(await runs(id)).length, (await runs(copy)).length]).toEqual([2, 1]);
    await call('DELETE', `/automations/${id}`);
    expect((await get(copy)).steps).toEqual(steps);
  });

  it('return 404 for another team, for another id, and after deletion', async () => {
    const id = await make();
    const other = await scene.team();
    const everything = [
      ['GET', ''],
      ['PATCH', '', { name: 'x' }],
      ['POST', '/stop'],
      ['POST', '/duplicate'],
      ['GET', '/runs'],
      ['GET', `/runs/${id}`],
      ['DELETE', ''],
    ] as const;
    for (const [method, path, body] of everything) {
      expect(await call(method, `/automations/${id}${path}`, body, other.key)).toMatchObject(missing);
      expect(await call(method, `/automations/${has.segment}${path}`, body)).toMatchObject(missing);
      expect((await call(method, `/automations/x${path}`, body)).status).toBe(422);
    }
    expect((await call('DELETE', `/automations/${id}`)).body).toEqual({ object: 'automation', id, deleted: true });
    for (const [method, path, body] of everything) {
      expect(await call(method, `/automations/${id}${path}`, body)).toMatchObject(missing);
    }
    expect((await call('GET', '/automations')).body.data).toEqual([]);
  });
});

it('a sending key cannot use automations or their runs', async () => {
  const id = await make({ status: 'enabled' });
  await send();
  const [run] = await runs(id);
  const { token } = (await call('POST', '/api-keys', { name: 'sends', permission: 'sending_access' })).body;
  const everything = [
    ['POST', '', { name: 'x', ...line(start) }],
    ['GET', ''],
    ['GET', `/${id}`],
    ['PATCH', `/${id}`, { name: 'x' }],
    ['POST', `/${id}/stop`],
    ['POST', `/${id}/duplicate`],
    ['GET', `/${id}/runs`],
    ['GET', `/${id}/runs/${run?.id}`],
    ['DELETE', `/${id}`],
  ] as const;
  for (const [method, path, body] of everything) {
    expect(await call(method, `/automations${path}`, body, token)).toMatchObject({
      status: 401,
      body: { name: 'restricted_api_key' },
    });
  }
  expect(await get(id)).toMatchObject({ name: 'Welcome', status: 'enabled', runs: { running: 1 } });
});

describe('which runs an automation starts and ends', () => {
  it('a disabled automation starts no run and leaves its runs alone, and starts runs again once enabled', async () => {
    const id = await make({ status: 'enabled' });
    await send();
    await call('PATCH', `/automations/${id}`, { status: 'disabled' });
    await send();
    expect(await runs(id)).toMatchObject([{ status: 'running' }]);
    await call('PATCH', `/automations/${id}`, { status: 'enabled' });
    await send();
    expect(await runs(id)).toMatchObject([{ status: 'running' }, { status: 'running' }]);
  });

  it('a stop disables the automation and cancels its runs, whatever its status', async () => {
    const id = await make({ status: 'enabled' });
    const other = await make({ status: 'enabled' });
    await send();
    await call('PATCH', `/automations/${id}`, { status: 'disabled' });
    scene.clock.advance(1000);
    for (let n = 0; n < 2; n++) {
      expect((await call('POST', `/automations/${id}/stop`)).body).toEqual({
        object: 'automation',
        id,
        status: 'disabled',
      });
    }
    expect(await runs(id)).toMatchObject([{ status: 'cancelled', completed_at: now() }]);
    expect(await runs(other)).toMatchObject([{ status: 'running', completed_at: null }]);
    await send();
    expect(await runs(id)).toHaveLength(1);
    expect((await get(id)).status).toBe('disabled');
  });

  it('a deletion cancels the runs of the automation', async () => {
    const id = await make({ status: 'enabled' });
    await send();
    await call('DELETE', `/automations/${id}`);
    await send();
    const sql = 'select status from automation_runs where automation_id = ?';
    expect(await scene.app.world.db.all(sql, [id])).toEqual([{ status: 'cancelled' }]);
  });

  it('events and a stop at the same time leave no run active', async () => {
    for (let n = 0; n < 5; n++) {
      const id = await make({ status: 'enabled' });
      await Promise.all([send(), send(), call('POST', `/automations/${id}/stop`), send()]);
      expect(new Set((await runs(id)).map(({ status }) => status)).has('running')).toBe(false);
    }
  });
});

describe('runs of an automation', () => {
  it('are listed newest first, by status and in pages', async () => {
    const id = await make({ status: 'enabled' });
    const created: string[] = [];
    for (let n = 0; n < 4; n++) {
      created.push(now());
      await send();
      scene.clock.advance(1000);
    }
    const all = await runs(id);
    expect(all).toEqual(
      created.toReversed().map((created_at, i) => ({
        id: all[i]?.id,
        status: 'running',
        contact_id: expect.any(String),
        error: null,
        ended_by: null,
        started_at: null,
        completed_at: null,
        created_at,
      })),
    );
    const ids = all.map((run) => run.id);
    await scene.app.world.db.run("update automation_runs set status = 'failed' where id = ?", [ids[1] ?? '']);
    await scene.app.world.db.run("update automation_runs set status = 'completed' where id = ?", [ids[2] ?? '']);
    const found = async (query: string) => {
      const { data, has_more } = (await call('GET', `/automations/${id}/runs?${query}`)).body;
      return [(data as { id: string }[]).map((run) => ids.indexOf(run.id)), has_more];
    };
    expect(await found('status=running')).toEqual([[0, 3], false]);
    expect(await found('status=failed%2Ccompleted')).toEqual([[1, 2], false]);
    expect(await found('status=running,failed,running&limit=2')).toEqual([[0, 1], true]);
    expect(await found(`status=running,failed&after=${ids[1]}`)).toEqual([[3], false]);
    expect(await found(`status=running,completed&before=${ids[3]}&limit=1`)).toEqual([[2], true]);
    expect(await found('status=cancelled')).toEqual([[], false]);
    expect(await found('limit=2')).toEqual([[0, 1], true]);
  });

  it('are counted by status and by current step', async () => {
    const id = await make({ status: 'enabled' });
    for (let n = 0; n < 6; n++) await send();
    const other = await make({ status: 'enabled' });
    await send();
    const ids = (await runs(id)).map((run) => run.id);
    const { db } = scene.app.world;
    for (const run of ids.slice(0, 2))
      await db.run("update automation_runs set step_key = 'later' where id = ?", [run]);
    await db.run("update automation_runs set step_key = 'old' where id = ?", [ids[2] ?? '']);
    await db.run("update automation_runs set status = 'failed', step_key = 'later' where id = ?", [ids[3] ?? '']);
    await db.run("update automation_runs set status = 'completed' where id = ?", [ids[4] ?? '']);
    const { at_steps: atSteps, ...counts } = (await get(id)).runs;
    expect(counts).toEqual({ running: 5, completed: 1, failed: 1, cancelled: 0, counted_to: 10_000 });
    expect(new Set(atSteps)).toEqual(
      new Set([
        { key: 'start', runs: 2 },
        { key: 'later', runs: 2 },
        { key: 'old', runs: 1 },
      ]),
    );
    await call('POST', `/automations/${other}/stop`);
    expect((await get(other)).runs).toMatchObject({ running: 0, cancelled: 1, at_steps: [] });
  });

  it.each(['status=paused', 'status=running,paused', 'status=', 'status=canceled', 'status=running,', 'after=x'])(
    'cannot be listed with ?%s',
    async (query) => {
      const id = await make();
      expect(await call('GET', `/automations/${id}/runs?${query}`)).toMatchObject({
        status: 422,
        body: { name: 'invalid_parameter' },
      });
    },
  );

  it('show the steps of the version they began with, in the order of the graph', async () => {
    const rule = { type: 'rule', field: 'email', operator: 'exists' };
    const steps = [
      wait('z'),
      step('no', 'delay', { duration: '1 day' }),
      step('if', 'condition', rule),
      wait('yes'),
      start,
    ];
    const connections = [
      { from: 'start', to: 'if' },
      { from: 'if', to: 'no', type: 'condition_not_met' },
      { from: 'if', to: 'yes', type: 'condition_met' },
      { from: 'yes', to: 'z' },
      { from: 'no', to: 'z' },
    ];
    const id = await make({ status: 'enabled', steps, connections });
    await send();
    await call('PATCH', `/automations/${id}`, line(start, wait('other')));
    await send();
    const [second, first] = await runs(id);
    const show = async (run?: { id: string }) => (await call('GET', `/automations/${id}/runs/${run?.id}`)).body;
    const keys = async (run?: { id: string }) => ((await show(run)).steps as { key: string }[]).map(({ key }) => key);
    expect(await keys(first)).toEqual(['start', 'if', 'yes', 'z', 'no']);
    expect(await keys(second)).toEqual(['start', 'other']);
    const run = await show(first);
    expect(run).toMatchObject({ object: 'automation_run', id: first?.id, status: 'running', started_at: null });
    expect(run.steps[0]).toEqual({
      key: 'start',
      type: 'trigger',
      status: 'pending',
      output: null,
      error: null,
      started_at: null,
      completed_at: null,
      created_at: run.created_at,
    });
    await call('POST', `/automations/${id}/stop`);
    const stopped = (await show(first)).steps as { status: string }[];
    expect(new Set(stopped.map(({ status }) => status))).toEqual(new Set(['skipped']));
  });

  it('are read by an index whatever their status, even if there are many', async () => {
    const id = await make({ status: 'enabled' });
    const { db, ids } = scene.app.world;
    const columns = ['id', 'team_id', 'automation_id', 'version', 'contact_id', 'status', 'due_at', 'created_at'];
    const row = (i: number) => [
      ids.uuid(),
      has.team.id,
      id,
      1,
      has.contact,
      i % 500 === 0 ? 'failed' : 'completed',
      0,
      0,
    ];
    await db.insertMany(
      'automation_runs',
      columns,
      Array.from({ length: 5000 }, (_, i) => row(i)),
    );
    const analyze = db.dialect === 'pg' ? 'vacuum analyze automation_runs' : 'analyze';
    await db.withKnex((knex) => knex.raw(analyze));
    const some = ['', '?status=failed', '?status=failed,running', '?status=completed&limit=5'];
    const work = async (): Promise<void> => {
      for (const query of some) expect(await runs(id, query)).not.toEqual([]);
    };
    const counts = await explainQueries(db, async () => void (await get(id)), 'from automation_runs');
    expect(counts).toHaveLength(1);
    if (db.dialect === 'sqlite') expect(counts[0]).toMatch(/automation_runs_automation_id_status_id_index/);
    expect(counts[0]).not.toMatch(/Seq Scan on automation_runs|SCAN automation_runs/);
    const plans = await explainQueries(db, work, 'from automation_runs');
    expect(plans).toHaveLength(5);
    for (const plan of plans) {
      if (db.dialect === 'sqlite') expect(plan).toMatch(/automation_runs_automation_id_(status_)?id_index/);
      expect(rowsRead(plan)).toBeLessThanOrEqual(21);
      expect(plan).not.toMatch(/TEMP B-TREE|Seq Scan/);
    }
  });

  it('return 404 under another automation, and for an unknown id', async () => {
    const id = await make({ status: 'enabled' });
    const other = await make();
    await send();
    const [run] = await runs(id);
    for (const path of [`${other}/runs/${run?.id}`, `${id}/runs/${id}`]) {
      expect(await call('GET', `/automations/${path}`)).toMatchObject({
        status: 404,
        body: { message: 'Run not found.' },
      });
    }
  });
});
