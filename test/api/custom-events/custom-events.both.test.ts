import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scaled } from '../../rig/scale.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const createItem = async (team: Team, path: string, body: object): Promise<string> => {
  const answer = await call(team, 'POST', path, body);
  expect(answer.status, answer.text).toBe(201);
  return answer.body.id as string;
};
const declare = (team: Team, name: string, schema: object | null = null) =>
  createItem(team, '/events', { name, schema });
const contact = (team: Team, email = 'ada@example.org') => createItem(team, '/contacts', { email });
const automate = (team: Team, event: string, more: object = {}) =>
  createItem(team, '/automations', {
    name: event,
    status: 'enabled',
    connections: [],
    steps: [{ key: 'start', type: 'trigger', config: { event_name: event } }],
    ...more,
  });
const fetchRuns = async (team: Team, automation: string): Promise<{ id: string; status: string }[]> =>
  (await call(team, 'GET', `/automations/${automation}/runs`)).body.data;
const refusal = (status: number, name: string, message: RegExp | string) => ({
  status,
  body: { name, message: typeof message === 'string' ? message : expect.stringMatching(message) },
});

describe('the /events routes', () => {
  it('declare, read by id and by name, list, replace the schema and delete', async () => {
    const team = await scene.team();
    const schema = { total: 'number', product: 'string', gift: 'boolean', due: 'date' };
    const created = await call(team, 'POST', '/events', { name: 'order.placed', schema });
    const { id } = created.body;
    expect([created.status, created.body]).toEqual([201, { object: 'event', id }]);
    const at = new Date(scene.clock.now()).toISOString();
    const item = { id, name: 'order.placed', schema, created_at: at, updated_at: at };
    for (const name of [id, id.toUpperCase(), 'order.placed']) {
      expect((await call(team, 'GET', `/events/${name}`)).body).toEqual({ object: 'event', ...item });
    }
    const second = await declare(team, 'second');
    expect((await call(team, 'GET', '/events?limit=1')).body).toMatchObject({
      object: 'list',
      has_more: true,
      data: [{ id: second, name: 'second', schema: null }],
    });
    expect((await call(team, 'GET', `/events?after=${second}`)).body).toEqual({
      object: 'list',
      has_more: false,
      data: [item],
    });
    scene.clock.advance(1000);
    const later = new Date(scene.clock.now()).toISOString();
    for (const next of [{ total: 'string' }, null]) {
      expect((await call(team, 'PATCH', '/events/order.placed', { schema: next })).body).toEqual({
        object: 'event',
        id,
      });
      expect((await call(team, 'GET', `/events/${id}`)).body).toMatchObject({
        schema: next,
        created_at: at,
        updated_at: later,
      });
    }
    expect((await call(team, 'DELETE', '/events/order.placed')).body).toEqual({ object: 'event', id, deleted: true });
    for (const [method, body] of [['GET'], ['PATCH', { schema: null }], ['DELETE']] as const) {
      expect(await call(team, method, `/events/${id}`, body)).toMatchObject(
        refusal(404, 'not_found', 'Event not found.'),
      );
    }
    expect((await call(team, 'GET', `/events/${await declare(team, 'order.placed')}`)).status).toBe(200);
  });

  it('allow one live event of a name per team, and no name of the platform', async () => {
    const team = await scene.team();
    const other = await scene.team();
    const id = await declare(team, 'twice');
    expect(await call(team, 'POST', '/events', { name: 'twice' })).toMatchObject(
      refusal(422, 'validation_error', /an event named "twice" already exists/),
    );
    await declare(other, 'twice');
    for (const name of ['rasket:order', 'rasket:contact.created', 'rasket:']) {
      expect(await call(team, 'POST', '/events', { name })).toMatchObject(
        refusal(422, 'validation_error', /names that begin with rasket: are reserved for the platform/),
      );
    }
    for (const path of [id, '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e32', 'nothing']) {
      expect((await call(other, 'GET', `/events/${path}`)).status).toBe(404);
    }
  });

  it.each([
    [{ name: 'Order' }, 400],
    [{ name: '1order' }, 400],
    [{ name: 'or der' }, 400],
    [{ name: '' }, 400],
    [{ name: 'x'.repeat(101) }, 400],
    [{ name: 'order:placed' }, 400],
    [{ name: 7 }, 400],
    [{}, 422],
    [{ name: 'x', schema: 'string' }, 400],
    [{ name: 'x', schema: { a: 'text' } }, 400],
    [{ name: 'x', schema: { a: { b: 'string' } } }, 400],
    [{ name: 'x', schema: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, 'string'])) }, 400],
    [{ name: 'x', label: 'y' }, 400],
  ])('refuse %j with %i', async (body, status) => {
    expect((await call(await scene.team(), 'POST', '/events', body)).status).toBe(status);
  });

  it('allow names of 100 characters and schemas of 50 keys, and only the schema can be changed', async () => {
    const team = await scene.team();
    const schema = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, 'string']));
    const name = `a${'.b-c_d9'.repeat(14)}z`;
    expect(name.length).toBe(100);
    const id = await declare(team, name, schema);
    expect((await call(team, 'GET', `/events/${name}`)).body).toMatchObject({ id, schema });
    expect((await call(team, 'PATCH', `/events/${id}`, {})).status).toBe(422);
    expect((await call(team, 'PATCH', `/events/${id}`, { name: 'other', schema: null })).status).toBe(400);
  });

  it('allow a sending key to send and nothing else', async () => {
    const team = await scene.team();
    await declare(team, 'order');
    await contact(team);
    const body = { name: 'sends', permission: 'sending_access' };
    const { token } = (await call(team, 'POST', '/api-keys', body)).body;
    const asked = async (method: string, path: string, more: object = {}) =>
      (await scene.api(method, path, { key: token, ...more })).status;
    const send = { event: 'order', email: 'ada@example.org' };
    expect(await asked('POST', '/events/send', { body: send })).toBe(202);
    expect(await asked('GET', '/events')).toBe(401);
    expect(await asked('GET', '/events/order')).toBe(401);
    expect(await asked('POST', '/events', { body: { name: 'other' } })).toBe(401);
    expect(await asked('PATCH', '/events/order', { body: { schema: null } })).toBe(401);
    expect(await asked('DELETE', '/events/order')).toBe(401);
    expect((await call(team, 'GET', '/events/order')).status).toBe(200);
  });
});

describe('POST /events/send', () => {
  const send = (team: Team, body: object) => call(team, 'POST', '/events/send', body);

  it('starts one run of each enabled automation that names the event, per call, in the same transaction', async () => {
    const team = await scene.team();
    await declare(team, 'order');
    await declare(team, 'other');
    const id = await contact(team);
    const one = await automate(team, 'order');
    const two = await automate(team, 'order');
    const off = await automate(team, 'order', { status: 'disabled' });
    const elsewhere = await automate(team, 'other');
    for (const by of [{ contact_id: id }, { email: 'ADA@example.org' }]) {
      const answer = await send(team, { event: 'order', ...by, payload: { total: 40 } });
      expect([answer.status, answer.body]).toEqual([202, { object: 'event', event: 'order' }]);
    }
    const counts = await Promise.all([one, two, off, elsewhere].map(async (a) => (await fetchRuns(team, a)).length));
    expect(counts).toEqual([2, 2, 0, 0]);
    const rows = await scene.app.world.db.all(
      'select contact_id, payload, due_at from automation_runs where team_id = ?',
      [team.id],
    );
    const due = { contact_id: id, payload: '{"total":40}', due_at: scene.clock.now() };
    expect(rows.map((row) => ({ ...row, due_at: Number(row['due_at']) }))).toEqual([due, due, due, due]);
  });

  it('ignores an idempotency key: two calls are two events and two runs', async () => {
    const team = await scene.team();
    await declare(team, 'order');
    const contactId = await contact(team);
    const automation = await automate(team, 'order');
    const body = { event: 'order', contact_id: contactId };
    const headers = { 'idempotency-key': 'once' };
    for (let n = 0; n < 2; n++) await scene.api('POST', '/events/send', { key: team.key, body, headers });
    expect(await fetchRuns(team, automation)).toHaveLength(2);
  });

  it('starts a run for each of any number of concurrent events of one contact', async () => {
    const team = await scene.team();
    await declare(team, 'order');
    const contactId = await contact(team);
    const automation = await automate(team, 'order');
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send(team, { event: 'order', contact_id: contactId })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 202));
    expect(await fetchRuns(team, automation)).toHaveLength(8);
    // More than the hourly limit of runs for platform events: events of a team are not limited.
    const more = scaled(120);
    for (let sent = 0; sent < more; sent += 8) {
      const count = Math.min(8, more - sent);
      const batch = Array.from({ length: count }, () => send(team, { event: 'order', contact_id: contactId }));
      expect(new Set((await Promise.all(batch)).map(({ status }) => status))).toEqual(new Set([202]));
    }
    const sql = 'select status, count(*) as n from automation_runs where automation_id = ? group by status';
    const rows = await scene.app.world.db.all<{ status: string; n: number }>(sql, [automation]);
    expect(rows.map(({ status, n }) => [status, Number(n)])).toEqual([['running', 8 + more]]);
  });

  it('returns 404 for what does not exist or belongs to another team', async () => {
    const team = await scene.team();
    const other = await scene.team();
    await declare(team, 'order');
    await declare(other, 'theirs');
    const mine = await contact(team);
    const theirs = await contact(other, 'bob@example.org');
    const unknown = [
      [{ event: 'nothing', contact_id: mine }, 'Event not found.'],
      [{ event: 'theirs', contact_id: mine }, 'Event not found.'],
      [{ event: 'rasket:contact.created', contact_id: mine }, 'Event not found.'],
      [{ event: 'order', contact_id: theirs }, 'Contact not found.'],
      [{ event: 'order', email: 'bob@example.org' }, 'Contact not found.'],
    ] as const;
    for (const [body, message] of unknown) {
      expect(await send(team, body)).toMatchObject(refusal(404, 'not_found', message));
    }
  });

  it('requires exactly one contact', async () => {
    const team = await scene.team();
    await declare(team, 'order');
    const id = await contact(team);
    expect(await send(team, { event: 'order' })).toMatchObject(
      refusal(422, 'missing_required_field', /contact_id or email/),
    );
    expect(await send(team, { event: 'order', contact_id: id, email: 'ada@example.org' })).toMatchObject(
      refusal(422, 'validation_error', /cannot be used together/),
    );
    expect(await send(team, { email: 'ada@example.org' })).toMatchObject(
      refusal(422, 'missing_required_field', /event/),
    );
    for (const body of [{ contact_id: 'x' }, { contact_id: id, payload: [] }, { contact_id: id, payload: 'x' }]) {
      expect((await send(team, { event: 'order', ...body })).status).toBe(400);
    }
  });

  it('accepts a JSON payload of up to 16 KB, counted in bytes', async () => {
    const team = await scene.team();
    await declare(team, 'order');
    const body = { event: 'order', contact_id: await contact(team) };
    // {"t":"…"} is 8 bytes, and each € three.
    const text = `${'€'.repeat(5458)}ab`;
    expect(Buffer.byteLength(JSON.stringify({ t: text }))).toBe(16 * 1024);
    expect((await send(team, { ...body, payload: { t: text } })).status).toBe(202);
    expect(await send(team, { ...body, payload: { t: `${text}c` } })).toMatchObject(
      refusal(422, 'validation_error', 'payload may have at most 16384 bytes of JSON; got 16385.'),
    );
  });

  it('validates the payload against the schema, and names each invalid key', async () => {
    const team = await scene.team();
    await declare(team, 'order', { total: 'number', product: 'string', gift: 'boolean', due: 'date' });
    const body = { event: 'order', contact_id: await contact(team) };
    const good = { total: 1.5, product: '', gift: false, due: '2026-11-20' };
    for (const payload of [undefined, {}, { total: 0 }, good, { due: '2026-11-20T09:30:00+01:00' }]) {
      expect((await send(team, { ...body, payload })).status).toBe(202);
    }
    const bad = { total: '1', product: 1, gift: null, due: 'tomorrow', colour: 'red' };
    const answer = await send(team, { ...body, payload: bad });
    expect(answer).toMatchObject(refusal(422, 'validation_error', /payload\.total must be a number.* \(and 4 more\)$/));
    expect(answer.body.errors.map(({ path }: { path: string }) => path)).toEqual(
      Object.keys(bad).map((key) => `payload.${key}`),
    );
    expect(await send(team, { ...body, payload: { ['__proto__x']: 1 } })).toMatchObject({ status: 422 });
    await call(team, 'PATCH', '/events/order', { schema: null });
    expect((await send(team, { ...body, payload: bad })).status).toBe(202);
  });

  it('refuses what a database cannot store, and starts nothing', async () => {
    const team = await scene.team();
    await declare(team, 'order');
    const automation = await automate(team, 'order');
    const body = { event: 'order', contact_id: await contact(team) };
    const hostile = [{ a: '\u0000' }, { a: ['\ud800'] }, { 'a\u0000': 1 }, { a: { '\udfff': 1 } }];
    for (const payload of hostile) expect((await send(team, { ...body, payload })).status).toBe(400);
    for (const event of ['order\u0000', '\ud800']) expect((await send(team, { ...body, event })).status).toBe(400);
    expect(await fetchRuns(team, automation)).toEqual([]);
  });

  it('accepts keys that are words of JavaScript like any other', async () => {
    const team = await scene.team();
    const schema = JSON.parse('{"__proto__": "string", "constructor": "number"}') as object;
    const body = { event: 'order', contact_id: await contact(team) };
    const id = await declare(team, 'order', schema);
    expect((await call(team, 'GET', `/events/${id}`)).text).toContain('{"__proto__":"string","constructor":"number"}');
    const payload = JSON.parse('{"__proto__": "x", "constructor": 1}') as object;
    expect((await send(team, { ...body, payload })).status).toBe(202);
    expect((await send(team, { ...body, payload: { toString: 'x' } })).status).toBe(422);
    const wrong = JSON.parse('{"__proto__": 1}') as object;
    expect((await send(team, { ...body, payload: wrong })).status).toBe(422);
  });

  it('starts no automation for a deleted event, even if its name is declared again', async () => {
    const team = await scene.team();
    await declare(team, 'order');
    const id = await contact(team);
    const automation = await automate(team, 'order');
    await send(team, { event: 'order', contact_id: id });
    await call(team, 'DELETE', '/events/order');
    expect((await send(team, { event: 'order', contact_id: id })).status).toBe(404);
    expect(await fetchRuns(team, automation)).toMatchObject([{ status: 'running' }]);
    await declare(team, 'order');
    expect((await send(team, { event: 'order', contact_id: id })).status).toBe(202);
    expect(await fetchRuns(team, automation)).toHaveLength(1);
    const { steps, connections } = (await call(team, 'GET', `/automations/${automation}`)).body;
    await call(team, 'PATCH', `/automations/${automation}`, { steps, connections });
    await send(team, { event: 'order', contact_id: id });
    expect(await fetchRuns(team, automation)).toHaveLength(2);
  });
});

describe('platform events of a contact', () => {
  it('start runs of the automations that name them, and of no other team', async () => {
    const team = await scene.team();
    const other = await scene.team();
    const created = await automate(team, 'rasket:contact.created');
    const updated = await automate(team, 'rasket:contact.updated');
    const theirs = await automate(other, 'rasket:contact.created');
    const id = await contact(team);
    await call(team, 'PATCH', `/contacts/${id}`, { first_name: 'Ada' });
    const count = async (of: Team, automation: string) => (await fetchRuns(of, automation)).length;
    const counts = await Promise.all([count(team, created), count(team, updated), count(other, theirs)]);
    expect(counts).toEqual([1, 1, 0]);
  });

  it('end with the contact: its runs are canceled and their payloads deleted', async () => {
    const team = await scene.team();
    await declare(team, 'order');
    const id = await contact(team);
    const automation = await automate(team, 'order');
    await call(team, 'POST', '/events/send', { event: 'order', contact_id: id, payload: { secret: 'yes' } });
    await call(team, 'DELETE', `/contacts/${id}`);
    expect(await fetchRuns(team, automation)).toMatchObject([{ status: 'cancelled' }]);
    const rows = await scene.app.world.db.all('select payload from automation_runs where contact_id = ?', [id]);
    expect(rows).toEqual([{ payload: null }]);
  });
});
