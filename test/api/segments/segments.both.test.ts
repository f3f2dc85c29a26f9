import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explainQueries } from '../../rig/plans.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const make = async (team: Team, body: object): Promise<string> => (await call(team, 'POST', '/segments', body)).body.id;
const contact = async (team: Team, body: object): Promise<string> =>
  (await call(team, 'POST', '/contacts', body)).body.id;
const fetchEmails = async (team: Team, segment: string): Promise<string[]> =>
  (await call(team, 'GET', `/segments/${segment}/contacts`)).body.data.map((one: { email: string }) => one.email);
const subscribed = { field: 'unsubscribed', op: 'eq', value: false };

async function withProperties(): Promise<Team> {
  const team = await scene.team();
  await call(team, 'POST', '/contact-properties', { key: 'plan', type: 'string' });
  await call(team, 'POST', '/contact-properties', { key: 'seats', type: 'number' });
  return team;
}

describe('POST /segments', () => {
  it('keeps the filter as it was written, and lists without it', async () => {
    const team = await withProperties();
    const filter = { all: [{ field: 'properties.plan', op: 'in', value: ['Pro'] }, { not: [subscribed] }] };
    const { status, body } = await call(team, 'POST', '/segments', { name: 'Left', filter });
    expect([status, body]).toEqual([201, { object: 'segment', id: body.id, name: 'Left' }]);
    const item = { id: body.id, name: 'Left', created_at: new Date(scene.clock.now()).toISOString() };
    expect((await call(team, 'GET', `/segments/${body.id}`)).body).toEqual({ object: 'segment', ...item, filter });
    expect((await call(team, 'GET', '/segments')).body).toEqual({ object: 'list', has_more: false, data: [item] });
    const explicit = await make(team, { name: 'By hand', filter: null });
    expect((await call(team, 'GET', `/segments/${explicit}`)).body.filter).toBe(null);
    expect((await call(team, 'GET', '/usage')).body.segments).toEqual({ used: 2, limit: null });
  });

  it('allows one live segment of a name', async () => {
    const team = await scene.team();
    const id = await make(team, { name: 'One' });
    const refused = { status: 422, body: { name: 'invalid_parameter' } };
    expect(await call(team, 'POST', '/segments', { name: 'One' })).toMatchObject(refused);
    const other = await make(team, { name: 'Two' });
    expect(await call(team, 'PATCH', `/segments/${other}`, { name: 'One' })).toMatchObject(refused);
    expect((await call(team, 'DELETE', `/segments/${id}`)).body).toEqual({ object: 'segment', id, deleted: true });
    expect((await call(team, 'PATCH', `/segments/${other}`, { name: 'One' })).body).toEqual({
      object: 'segment',
      id: other,
    });
    for (const method of ['GET', 'DELETE']) {
      expect(await call(team, method, `/segments/${id}`)).toMatchObject({ status: 404 });
    }
  });

  it('searches part of a name in any letter case, page by page, and takes % and _ literally', async () => {
    const team = await scene.team();
    for (const name of [
      'Übergabe',
      'Caf\u00e9',
      '100% sure_thing',
      'Paying one',
      'Other',
      'paying TWO',
      'Not PAYING',
    ]) {
      await make(team, { name });
    }
    await call(team, 'DELETE', `/segments/${await make(team, { name: 'paying no more' })}`);
    const found = async (search: string, more = '') => {
      const { status, body } = await call(team, 'GET', `/segments?search=${encodeURIComponent(search)}${more}`);
      expect(status, JSON.stringify(body)).toBe(200);
      return body as { has_more: boolean; data: { id: string; name: string }[] };
    };
    const names = async (search: string) => (await found(search)).data.map(({ name }) => name);
    expect(await names('üBER')).toEqual(['Übergabe']);
    expect(await names('cafe\u0301')).toEqual(['Caf\u00e9']);
    expect(await names('%')).toEqual(['100% sure_thing']);
    expect(await names('e_t')).toEqual(['100% sure_thing']);
    expect(await names("' or 1=1 --")).toEqual([]);
    const { data } = await found('paying');
    expect(data.map(({ name }) => name)).toEqual(['Not PAYING', 'paying TWO', 'Paying one']);
    const [newest, middle, oldest] = data;
    expect(await found('paying', '&limit=2')).toMatchObject({ has_more: true, data: [newest, middle] });
    expect(await found('paying', `&limit=2&after=${middle?.id}`)).toEqual({
      object: 'list',
      has_more: false,
      data: [oldest],
    });
    expect(await found('paying', `&limit=1&before=${oldest?.id}`)).toMatchObject({ has_more: true, data: [middle] });
    const other = await scene.team();
    expect((await call(other, 'GET', '/segments?search=paying')).body.data).toEqual([]);
    for (const search of ['', ' ', 'x'.repeat(201)]) {
      expect(await call(team, 'GET', `/segments?search=${encodeURIComponent(search)}`)).toMatchObject({
        status: 422,
        body: {
          name: 'invalid_parameter',
          message: expect.stringMatching(/^search must be 1 to 200 characters long and not blank; got /),
        },
      });
    }
  });

  it('reports one entry per invalid condition, at creation and in a preview', async () => {
    const team = await withProperties();
    const filter = {
      all: [
        subscribed,
        { field: 'properties.colour', op: 'eq', value: 'x' },
        { field: 'properties.PLAN', op: 'eq', value: 'x' },
        {
          any: [
            { field: 'email', op: 'like', value: 'x' },
            { field: 'created_at', op: 'gt', value: 'yesterday' },
          ],
        },
        { field: 'properties.seats', op: 'contains', value: 1 },
        { field: 'properties.seats', op: 'gt', value: '1' },
        { field: 'properties.seats', op: 'gt', value: 1e300 },
        { field: 'phone', op: 'eq', value: 'x' },
        { topic: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e99', subscription: 'opt_in' },
        { field: 'unsubscribed', op: 'eq', value: 'false' },
      ],
    };
    const paths = [
      'all.1',
      'all.2',
      'all.3.any.0',
      'all.3.any.1',
      'all.4',
      'all.5',
      'all.6',
      'all.7',
      'all.8',
      'all.9',
    ].map((path) => `filter.${path}`);
    for (const [path, body] of [
      ['/segments', { name: 'X', filter }],
      ['/segments/preview', { filter }],
    ] as const) {
      const answer = await call(team, 'POST', path, body);
      expect(answer).toMatchObject({ status: 422, body: { name: 'validation_error' } });
      expect(answer.body.errors.map((error: { path: string }) => error.path)).toEqual(paths);
      expect(answer.body.errors[1].message).toContain('"PLAN", which is not declared; the closest one is "plan".');
    }
    expect((await call(team, 'GET', '/segments')).body.data).toEqual([]);
  });

  const AS_TEXT = ['eq', 'neq', 'contains', 'exists', 'in'];
  const AS_DATE = ['gt', 'gte', 'lt', 'lte'];
  it.each<[string, string[], unknown]>([
    ['email', ['eq', 'neq', 'contains', 'in'], 'a'],
    ['first_name', AS_TEXT, 'a'],
    ['last_name', AS_TEXT, 'a'],
    ['unsubscribed', ['eq'], true],
    ['created_at', AS_DATE, '2026-11-20T09:30:00+01:00'],
    ['properties.plan', AS_TEXT, 'a'],
    ['properties.seats', ['eq', 'neq', ...AS_DATE, 'in', 'exists'], 7],
  ])('lets %s have the operators %j and no other, and a preview stores nothing', async (field, operators, value) => {
    const team = await withProperties();
    const values: Record<string, unknown> = { exists: true, in: [value] };
    for (const op of new Set([...AS_TEXT, ...AS_DATE, 'like', 'EQ', ''])) {
      const filter = { all: [{ field, op, value: values[op] ?? value }] };
      const answer = await call(team, 'POST', '/segments/preview', { filter });
      expect([op, answer.status]).toEqual([op, operators.includes(op) ? 200 : 422]);
      if (!operators.includes(op)) expect(answer.body.errors).toMatchObject([{ path: 'filter.all.0' }]);
    }
    expect((await call(team, 'GET', '/segments')).body.data).toEqual([]);
  });

  it('accepts names of at most 200 characters', async () => {
    const team = await scene.team();
    expect((await call(team, 'POST', '/segments', { name: 'x'.repeat(200) })).status).toBe(201);
    expect(await call(team, 'POST', '/segments', { name: 'x'.repeat(201) })).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path: 'name' }] },
    });
  });

  const nest = (depth: number): object => (depth === 0 ? subscribed : { all: [nest(depth - 1)] });
  const many = (count: number): object => ({ any: Array.from({ length: count }, () => subscribed) });
  it.each([
    ['three deep', nest(3), 201],
    ['four deep', nest(4), 422],
    ['forty deep', nest(40), 422],
    ['20 conditions', many(20), 201],
    ['21 conditions', many(21), 422],
    ['21 conditions in two groups', { all: [many(11), many(10)] }, 422],
    ['an empty group', { all: [] }, 422],
    ['nothing', {}, 422],
    ['a group that is no list', { all: subscribed }, 422],
    ['a condition that is a list', { all: [[subscribed]] }, 422],
    ['a group with a stray field', { all: [subscribed], limit: 3 }, 422],
    ['a condition with a stray field', { all: [{ ...subscribed, case: true }] }, 422],
    ['a field of the prototype', { all: [{ field: 'constructor', op: 'eq', value: 'x' }] }, 422],
    ...['__proto__', 'constructor', 'toString'].map((name): [string, object, number] => [
      `a group called ${name}`,
      JSON.parse(`{"${name}":[${JSON.stringify(subscribed)}]}`),
      422,
    ]),
    ...['__proto__', 'constructor', 'toString'].map((name): [string, object, number] => [
      `a group beside one called ${name}`,
      JSON.parse(`{"all":[${JSON.stringify(subscribed)}],"${name}":[${JSON.stringify(subscribed)}]}`),
      422,
    ]),
    ['101 values', { field: 'email', op: 'in', value: Array.from({ length: 101 }, (_, i) => `n${i}`) }, 422],
    ['no value', { field: 'email', op: 'in', value: [] }, 422],
  ])('validates the filter: %s', async (_, filter, status) => {
    const team = await scene.team();
    const answer = await call(team, 'POST', '/segments', { name: 'X', filter });
    expect(answer.status).toBe(status);
    if (status === 422) expect(answer.body).toMatchObject({ name: 'validation_error' });
  });
});

describe('PATCH /segments/{segment}', () => {
  it('changes only the name, and refuses a filter with 422 invalid_parameter', async () => {
    const team = await scene.team();
    const id = await make(team, { name: 'One' });
    for (const body of [{ filter: null }, { name: 'Two', filter: { all: [subscribed] } }]) {
      expect(await call(team, 'PATCH', `/segments/${id}`, body)).toMatchObject({
        status: 422,
        body: { name: 'invalid_parameter', message: expect.stringContaining('filter') },
      });
    }
    expect(await call(team, 'PATCH', `/segments/${id}`, {})).toMatchObject({
      body: { name: 'missing_required_field' },
    });
    expect((await call(team, 'GET', `/segments/${id}`)).body.name).toBe('One');
  });
});

describe('segment membership', () => {
  it('is evaluated when read, so contacts that change enter and leave', async () => {
    const team = await withProperties();
    const filter = { all: [{ field: 'properties.plan', op: 'eq', value: 'PRO' }, subscribed] };
    const id = await make(team, { name: 'Paying', filter });
    await contact(team, { email: 'a@example.org', properties: { plan: 'Pro' } });
    await contact(team, { email: 'b@example.org', properties: { plan: 'pro' }, unsubscribed: true });
    await contact(team, { email: 'c@example.org' });
    expect(await fetchEmails(team, id)).toEqual(['a@example.org']);
    await call(team, 'PATCH', '/contacts/b@example.org', { unsubscribed: false });
    await call(team, 'PATCH', '/contacts/a@example.org', { properties: { plan: 'free' } });
    expect(await fetchEmails(team, id)).toEqual(['b@example.org']);
    await call(team, 'DELETE', '/contacts/b@example.org');
    expect(await fetchEmails(team, id)).toEqual([]);
  });

  it('by hand overrides the filter, can be repeated without harm, and can be removed', async () => {
    const team = await withProperties();
    const id = await make(team, { name: 'Seats', filter: { field: 'properties.seats', op: 'gte', value: 5 } });
    const small = await contact(team, { email: 'small@example.org', properties: { seats: 1 } });
    const large = await contact(team, { email: 'large@example.org', properties: { seats: 9 } });
    const path = (one: string) => `/contacts/${one}/segments/${id}`;
    const reference = { object: 'contact_segment', id, contact_id: small, segment_id: id };
    for (let i = 0; i < 2; i++) expect((await call(team, 'POST', path(small))).body).toEqual(reference);
    await call(team, 'POST', path('large@example.org'));
    expect(await fetchEmails(team, id)).toEqual(['large@example.org', 'small@example.org']);
    expect((await call(team, 'GET', `/contacts/${small}/segments`)).body).toMatchObject({ data: [{ id }] });
    expect((await call(team, 'DELETE', path(small))).body).toEqual({ ...reference, deleted: true });
    await call(team, 'DELETE', path(large));
    expect(await fetchEmails(team, id)).toEqual(['large@example.org']);
    expect((await call(team, 'DELETE', path(small))).status).toBe(200);
    const foreign = await make(await scene.team(), { name: 'Foreign' });
    expect(await call(team, 'POST', `/contacts/${small}/segments/${foreign}`)).toMatchObject({ status: 404 });
  });

  it('includes unsubscribed and suppressed contacts, and changes of it cause no event', async () => {
    const team = await scene.team();
    const id = await make(team, { name: 'All', filter: { field: 'email', op: 'contains', value: '@' } });
    const picked = await make(team, { name: 'Picked' });
    const left = await contact(team, { email: 'left@example.org', unsubscribed: true });
    await contact(team, { email: 'bounced@example.org' });
    await call(team, 'POST', '/suppressions', { email: 'bounced@example.org' });
    expect(await fetchEmails(team, id)).toEqual(['bounced@example.org', 'left@example.org']);
    await call(team, 'POST', `/contacts/${left}/segments/${picked}`);
    await call(team, 'DELETE', `/contacts/${left}/segments/${picked}`);
    expect((await scene.events(left)).map(({ type }) => type)).toEqual(['contact.created']);
  });

  it('is counted live in metrics and previews', async () => {
    const team = await scene.team();
    const filter = { field: 'email', op: 'contains', value: '@EXAMPLE.org' };
    const id = await make(team, { name: 'All', filter });
    for (const [i, domain] of ['example.org', 'example.org', 'example.org', 'example.net'].entries()) {
      await contact(team, { email: `n${i}@${domain}`, unsubscribed: i === 0 });
    }
    const metrics = { object: 'segment_metrics', segment_id: id, contacts: 3, subscribed: 2, unsubscribed: 1 };
    expect((await call(team, 'GET', `/segments/${id}/metrics`)).body).toEqual(metrics);
    const preview = await call(team, 'POST', '/segments/preview', { filter });
    expect([preview.status, preview.body]).toEqual([200, { object: 'segment_preview', contacts: 3 }]);
    await call(team, 'POST', `/contacts/n3@example.net/segments/${id}`);
    expect((await call(team, 'GET', `/segments/${id}/metrics`)).body).toMatchObject({ contacts: 4, subscribed: 3 });
  });

  it('of a contact is paged, including segments with a filter', async () => {
    const team = await scene.team();
    const id = await contact(team, { email: 'a@example.org' });
    const all: string[] = [];
    for (let i = 0; i < 5; i++) {
      const filter = { field: 'email', op: 'eq', value: i % 2 ? 'A@example.org' : 'b@example.org' };
      const segment = await make(team, { name: `S${i}`, filter });
      if (i === 4) await call(team, 'POST', `/contacts/${id}/segments/${segment}`);
      if (i % 2 || i === 4) all.unshift(segment);
    }
    const page = async (query: string) => {
      const { body } = await call(team, 'GET', `/contacts/${id}/segments?${query}`);
      return [body.data.map((one: { id: string }) => one.id), body.has_more];
    };
    expect(await page('')).toEqual([all, false]);
    expect(await page('limit=2')).toEqual([all.slice(0, 2), true]);
    expect(await page(`limit=2&after=${all[1]}`)).toEqual([all.slice(2), false]);
    expect(await page(`limit=1&before=${all[2]}`)).toEqual([[all[1]], true]);
  });
});

describe('GET /segments?include=counts', () => {
  it('counts each segment of the page as its own metrics do', async () => {
    const team = await withProperties();
    const hand = await make(team, { name: 'By hand' });
    const both = await make(team, {
      name: 'Pro',
      filter: { all: [{ field: 'properties.plan', op: 'eq', value: 'pro' }] },
    });
    await make(team, { name: 'Empty', filter: { all: [{ field: 'email', op: 'eq', value: 'x@example.net' }] } });
    await make(team, { name: 'Reached', filter: { all: [subscribed] } });
    const none = (await call(team, 'GET', '/segments?include=counts')).body.data.map((one: Item) => one.counts);
    expect(none).toEqual(Array(4).fill({ contacts: 0, subscribed: 0, unsubscribed: 0 }));
    const ids: string[] = [];
    for (const at of [0, 1, 2, 3, 4]) {
      const properties = at < 2 ? { plan: 'Pro' } : {};
      ids.push(await contact(team, { email: `c${at}@example.org`, unsubscribed: at === 1 || at === 4, properties }));
    }
    const other = await scene.team();
    await contact(other, { email: 'other@example.org' });
    for (const [at, segment] of [
      [0, both],
      [4, both],
      [4, hand],
    ] as const) {
      await call(team, 'POST', `/contacts/${ids[at]}/segments/${segment}`);
    }
    const { data } = (await call(team, 'GET', '/segments?include=counts')).body as { data: Item[] };
    expect(data.map(({ name, counts }) => [name, counts])).toEqual([
      ['Reached', { contacts: 3, subscribed: 3, unsubscribed: 0 }],
      ['Empty', { contacts: 0, subscribed: 0, unsubscribed: 0 }],
      ['Pro', { contacts: 3, subscribed: 1, unsubscribed: 2 }],
      ['By hand', { contacts: 1, subscribed: 0, unsubscribed: 1 }],
    ]);
    for (const { id, counts } of data) {
      expect((await call(team, 'GET', `/segments/${id}/metrics`)).body).toMatchObject({ ...counts });
    }
    const found = (await call(team, 'GET', '/segments?include=counts&search=hand')).body.data;
    expect(found).toEqual([data.at(-1)]);
    expect((await call(team, 'GET', '/segments?limit=1')).body.data[0]).not.toHaveProperty('counts');
    expect(await call(team, 'GET', '/segments?include=filter')).toMatchObject({ status: 422 });
  });

  it('counts contacts added by hand', async () => {
    const team = await scene.team();
    for (const name of ['One', 'Two']) await make(team, { name });
    const both = await make(team, { name: 'Both' });
    for (const n of [1, 2, 3])
      await call(team, 'POST', `/contacts/${await contact(team, { email: `c${n}@example.org` })}/segments/${both}`);
    const { db } = scene.app.world;
    let counts: unknown;
    const ask = async () => void (counts = (await call(team, 'GET', '/segments?include=counts')).body.data);
    const plans = await explainQueries(db, ask, 'as contacts', 'sum(');
    expect(counts).toMatchObject([
      { name: 'Both', counts: { contacts: 3, subscribed: 3, unsubscribed: 0 } },
      { name: 'Two', counts: { contacts: 0 } },
      { name: 'One', counts: { contacts: 0 } },
    ]);
    expect(plans.length).toBeGreaterThanOrEqual(3);
    // SQLite joins in the given order; PostgreSQL may read three rows any way it likes.
    if (db.dialect === 'sqlite')
      for (const plan of plans) expect(plan).toMatch(/SEARCH i USING .*\(segment_id=\?\)\n.*SEARCH c USING .*id=\?\)/);
    expect(await explainQueries(db, ask, 'case when')).toEqual([]);
  });

  it('runs one statement over the contacts, whatever the number of segments', async () => {
    const team = await scene.team();
    for (const value of ['a', 'b', 'c']) {
      await make(team, { name: value, filter: { all: [{ field: 'email', op: 'contains', value }] } });
    }
    await contact(team, { email: 'abc@example.org' });
    const ask = () => call(team, 'GET', '/segments?include=counts');
    const { db } = scene.app.world;
    const plans = await explainQueries(db, ask, 'from contacts c', 'sum(');
    // PostgreSQL also returns the plan for any values once it has prepared the statement.
    expect(new Set(plans).size).toBeLessThanOrEqual(db.dialect === 'pg' ? 2 : 1);
    expect(plans[0]).toMatch(/index|primary key \(team_id/i);
    expect(plans[0]).not.toMatch(/\bscan c\b|seq scan/i);
  });
});

interface Item {
  id: string;
  name: string;
  counts?: { contacts: number; subscribed: number; unsubscribed: number };
}
