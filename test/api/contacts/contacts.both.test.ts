import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runInProcess } from '../../cli/in-process.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'], config: { plans: { tiny: { name: 'Tiny', contact_limit: 2 } } } });
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const create = async (team: Team, body: object): Promise<string> =>
  (await call(team, 'POST', '/contacts', body)).body.id;
const read = async (team: Team, contact: string) => (await call(team, 'GET', `/contacts/${contact}`)).body;
const types = async (id: string) => (await scene.events(id)).map((event) => event.type);
const consents = async (contactId: string) =>
  (
    await scene.app.world.db.all<{ action: string; email_hash: string }>(
      'select action, email_hash from consent_records where contact_id = ? order by id',
      [contactId],
    )
  ).map(({ action }) => action);

describe('POST /contacts', () => {
  it('creates a contact with every field', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contact-properties', { key: 'plan', type: 'string' });
    await call(team, 'POST', '/contact-properties', { key: 'seats', type: 'number' });
    const segment = (await call(team, 'POST', '/segments', { name: 'By hand' })).body.id;
    const topic = (await call(team, 'POST', '/topics', { name: 'News', default_subscription: 'opt_out' })).body.id;
    const answer = await call(team, 'POST', '/contacts', {
      email: 'Ada.L+x@Example.org',
      first_name: 'Ada',
      last_name: 'Lovelace',
      properties: { plan: 'Pro', seats: 3.5 },
      segments: [{ id: segment }],
      topics: [{ id: topic, subscription: 'opt_in' }],
    });
    const { id } = answer.body;
    expect([answer.status, answer.body]).toEqual([201, { object: 'contact', id }]);
    const listed = {
      id,
      email: 'Ada.L+x@example.org',
      first_name: 'Ada',
      last_name: 'Lovelace',
      created_at: new Date(scene.clock.now()).toISOString(),
      unsubscribed: false,
      suppression: null,
    };
    expect(await read(team, id)).toEqual({ object: 'contact', ...listed, properties: { plan: 'Pro', seats: 3.5 } });
    expect((await call(team, 'GET', '/contacts')).body).toEqual({ object: 'list', data: [listed] });
    expect(
      (await call(team, 'GET', `/contacts/${id}/segments`)).body.data.map((one: { id: string }) => one.id),
    ).toEqual([segment]);
    expect((await call(team, 'GET', `/contacts/${id}/topics`)).body.data).toEqual([
      { id: topic, name: 'News', description: null, subscription: 'opt_in', confirmation: null },
    ]);
    const [event, ...more] = await scene.events(id);
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      type: 'contact.created',
      data: {
        id,
        segment_ids: [segment],
        audience_id: segment,
        email: 'Ada.L+x@example.org',
        unsubscribed: false,
        first_name: 'Ada',
        last_name: 'Lovelace',
        created_at: listed.created_at,
        updated_at: listed.created_at,
      },
    });
    expect(await consents(id)).toEqual(['opt_in']);
  });

  it('returns 201 with the same id when repeated, changes the named fields and never resubscribes', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contact-properties', { key: 'plan', type: 'string' });
    await call(team, 'POST', '/contact-properties', { key: 'city', type: 'string' });
    const first = { email: 'again@example.org', first_name: 'A', last_name: 'B', properties: { plan: 'x', city: 'y' } };
    const id = await create(team, { ...first, unsubscribed: true });
    const repeated = { email: 'AGAIN@Example.org', unsubscribed: false, last_name: 'C', properties: { plan: 'z' } };
    expect(await call(team, 'POST', '/contacts', repeated)).toMatchObject({ status: 201, body: { id } });
    expect(await read(team, id)).toMatchObject({
      email: 'again@example.org',
      first_name: 'A',
      last_name: 'C',
      unsubscribed: true,
      properties: { plan: 'z', city: 'y' },
    });
    expect(await types(id)).toEqual(['contact.created', 'contact.updated']);
    expect(await consents(id)).toEqual(['unsubscribed']);
    expect((await call(team, 'GET', '/usage')).body.contacts.used).toBe(1);
  });

  it('creates one contact when the same address arrives many times at once', async () => {
    const team = await scene.team();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        call(team, 'POST', '/contacts', { email: i % 2 ? 'x@example.org' : 'X@example.org', first_name: `N${i}` }),
      ),
    );
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
    expect((await call(team, 'GET', '/usage')).body.contacts.used).toBe(1);
  });

  it('names a property that is undeclared, or has another type or letter case', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contact-properties', { key: 'plan', type: 'string' });
    await call(team, 'POST', '/contact-properties', { key: 'seats', type: 'number' });
    for (const [properties, word] of [
      [{ colour: 'x' }, 'colour'],
      [{ PLAN: 'x' }, 'the property is called plan'],
      [{ plan: 7 }, 'properties.plan'],
      [{ plan: 'x'.repeat(501) }, '500'],
      [{ seats: '7' }, 'properties.seats'],
      [{ seats: 1e300 }, '10^15'],
      [{ seats: true }, 'properties.seats'],
      [{ plan: { a: 1 } }, 'properties.plan'],
    ] as const) {
      expect(await call(team, 'POST', '/contacts', { email: 'a@example.org', properties })).toMatchObject({
        status: 422,
        body: { name: 'invalid_parameter', message: expect.stringContaining(word) },
      });
    }
    expect((await call(team, 'GET', '/contacts')).body.data).toEqual([]);
  });

  it.each(['Name <a@example.org>', 'nonsense', '', 'a@b@', 'a@example.org, b@example.org'])(
    'refuses the address %j',
    async (email) => {
      const team = await scene.team();
      expect(await call(team, 'POST', '/contacts', { email })).toMatchObject({
        status: 400,
        body: { name: 'validation_error', errors: [{ path: 'email' }] },
      });
    },
  );

  it.each(['first_name', 'last_name'])('limits %s to 200 characters, counting an emoji as one', async (field) => {
    const team = await scene.team();
    const given = (name: string) => call(team, 'POST', '/contacts', { email: 'a@example.org', [field]: name });
    for (const name of ['x', '😀']) {
      expect((await given(name.repeat(200))).status).toBe(201);
      expect(await given(name.repeat(201))).toMatchObject({
        status: 400,
        body: { name: 'validation_error', errors: [{ path: field }] },
      });
    }
  });

  it('takes segments by id only, and refuses segments and topics of another team', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const mine = (await call(team, 'POST', '/segments', { name: 'Mine' })).body.id;
    const theirs = (await call(stranger, 'POST', '/segments', { name: 'Theirs' })).body.id;
    const id = await create(team, { email: 'a@example.org', segments: [mine] });
    expect((await call(team, 'GET', `/contacts/${id}/segments`)).body.data).toHaveLength(1);
    const topics = [{ id: theirs, subscription: 'opt_in' }];
    for (const more of [{ segments: [mine, { id: theirs }] }, { topics }]) {
      expect(await call(team, 'POST', '/contacts', { email: 'b@example.org', ...more })).toMatchObject({
        status: 422,
        body: { name: 'invalid_parameter' },
      });
    }
    expect((await call(team, 'GET', '/contacts')).body.data).toHaveLength(1);
  });

  it('returns 422 at the limit of the plan, while an existing address is still updated', async () => {
    const team = await scene.team();
    await scene.app.world.db.run('update teams set plan_code = ? where id = ?', ['tiny', team.id]);
    for (const name of ['a', 'b']) await create(team, { email: `${name}@example.org` });
    expect(await call(team, 'POST', '/contacts', { email: 'c@example.org' })).toMatchObject({
      status: 422,
      body: { name: 'validation_error', message: expect.stringContaining('2 contacts') },
    });
    expect((await call(team, 'POST', '/contacts', { email: 'a@example.org' })).status).toBe(201);
    expect((await call(team, 'GET', '/usage')).body.contacts).toEqual({ used: 2, limit: 2 });
    await call(team, 'DELETE', '/contacts/a@example.org');
    expect((await call(team, 'POST', '/contacts', { email: 'c@example.org' })).status).toBe(201);
  });
});

describe.each(['segments', 'audiences'])('GET /%s/{segment}/contacts', (collection) => {
  it.each([undefined, { field: 'email', op: 'contains', value: 'even' }])(
    'reports whether more contacts follow in this direction: filter %j',
    async (filter) => {
      const team = await scene.team();
      const body = filter ? { name: 'Even', filter } : { name: 'Even' };
      const segment = (await call(team, 'POST', '/segments', body)).body.id;
      const ids: string[] = [];
      for (let i = 0; i < 12; i++) {
        const isEven = i % 2 === 0;
        const given = { email: `${isEven ? 'even' : 'odd'}${i}@example.org` };
        const id = await create(team, { ...given, ...(isEven && !filter ? { segments: [segment] } : {}) });
        if (isEven) ids.unshift(id);
      }
      const page = async (query: string) => {
        const { data, has_more } = (await call(team, 'GET', `/${collection}/${segment}/contacts?${query}`)).body;
        return [data.map(({ id }: { id: string }) => ids.indexOf(id)), has_more];
      };
      expect(await page('')).toEqual([[0, 1, 2, 3, 4, 5], false]);
      expect(await page('limit=6')).toEqual([[0, 1, 2, 3, 4, 5], false]);
      expect(await page('limit=5')).toEqual([[0, 1, 2, 3, 4], true]);
      expect(await page(`limit=2&after=${ids[3]}`)).toEqual([[4, 5], false]);
      expect(await page(`limit=2&after=${ids[2]}`)).toEqual([[3, 4], true]);
      expect(await page(`limit=2&before=${ids[2]}`)).toEqual([[0, 1], false]);
      expect(await page(`limit=2&before=${ids[3]}`)).toEqual([[1, 2], true]);
      expect(await page(`after=${ids[5]}`)).toEqual([[], false]);
    },
  );
});

it('rasket segments contacts reports whether there are more', async () => {
  const team = await scene.team();
  const segment = (await call(team, 'POST', '/segments', { name: 'Two' })).body.id;
  for (const name of ['a', 'b']) await create(team, { email: `${name}@example.org`, segments: [segment] });
  const env = { RASKET_URL: scene.url, RASKET_API_KEY: team.key };
  const list = async (limit: string) => {
    const words = ['segments', 'contacts', segment, '--limit', limit];
    const { code, shown } = await runInProcess(words, { env, cwd: scene.dataDir, columns: 120 });
    expect([code, shown.includes('@example.org')]).toEqual([0, true]);
    return /There (?:are|may be) more/.exec(shown)?.[0];
  };
  expect([await list('2'), await list('1')]).toEqual([undefined, 'There are more']);
});

describe('GET /contacts', () => {
  it('pages newest first in both directions, with has_more only in a segment', async () => {
    const team = await scene.team();
    const segment = (await call(team, 'POST', '/segments', { name: 'Even' })).body.id;
    const ids: string[] = [];
    for (let i = 0; i < 9; i++) {
      const segments = i % 2 === 0 ? [segment] : [];
      ids.unshift(await create(team, { email: `n${i}@example.org`, segments }));
    }
    const fetchIds = async (query: string) => {
      const { body } = await call(team, 'GET', query);
      const fields = query.startsWith('/contacts') ? ['data', 'object'] : ['data', 'has_more', 'object'];
      expect(Object.keys(body).sort()).toEqual(fields);
      return body.data.map((item: { id: string }) => item.id);
    };
    for (const [path, all] of [
      ['/contacts?', ids],
      [`/contacts?segment_id=${segment}&`, ids.filter((_, i) => i % 2 === 0)],
      [`/segments/${segment}/contacts?`, ids.filter((_, i) => i % 2 === 0)],
      [`/audiences/${segment}/contacts?`, ids.filter((_, i) => i % 2 === 0)],
    ] as const) {
      expect(await fetchIds(`${path}limit=100`)).toEqual(all);
      expect(await fetchIds(`${path}limit=2&after=${all[1]}`)).toEqual(all.slice(2, 4));
      expect(await fetchIds(`${path}limit=2&before=${all[4]}`)).toEqual(all.slice(2, 4));
      expect(await fetchIds(`${path}after=${all.at(-1)}`)).toEqual([]);
    }
    const nowhere = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e99';
    expect(await call(team, 'GET', `/contacts?segment_id=${nowhere}`)).toMatchObject({ status: 422 });
  });

  it('can be read with either key permission, while only a full key writes', async () => {
    const team = await scene.team();
    const id = await create(team, { email: 'a@example.org' });
    const sending = { ...team, key: await team.sendingKey() };
    for (const path of ['/contacts', `/contacts/${id}`, `/contacts/${id}/segments`, `/contacts/${id}/topics`]) {
      expect((await call(sending, 'GET', path)).status, path).toBe(200);
    }
    for (const [method, path, body] of [
      ['POST', '/contacts', { email: 'b@example.org' }],
      ['PATCH', `/contacts/${id}`, {}],
      ['DELETE', `/contacts/${id}`, undefined],
    ] as const) {
      expect(await call(sending, method, path, body)).toMatchObject({
        status: 401,
        body: { name: 'restricted_api_key' },
      });
    }
  });
});

describe('PATCH /contacts/{contact}', () => {
  it('changes the named fields, merges properties by key, and sends an event', async () => {
    const team = await scene.team();
    for (const key of ['plan', 'city']) await call(team, 'POST', '/contact-properties', { key, type: 'string' });
    const id = await create(team, { email: 'a@example.org', first_name: 'A', properties: { plan: 'x', city: 'y' } });
    const body = { first_name: null, last_name: 'L', properties: { plan: null, city: 'Z' } };
    expect((await call(team, 'PATCH', '/contacts/A@example.org', body)).body).toEqual({ object: 'contact', id });
    expect(await read(team, id)).toMatchObject({ first_name: null, last_name: 'L', properties: { city: 'Z' } });
    expect(await types(id)).toEqual(['contact.created', 'contact.updated']);
    expect((await call(team, 'PATCH', `/contacts/${id}`, { email: 'NEW@example.org' })).status).toBe(200);
    expect((await read(team, 'new@example.org')).id).toBe(id);
    expect(await call(team, 'GET', '/contacts/a@example.org')).toMatchObject({ status: 404 });
  });

  it('writes a consent record when unsubscribed changes in either direction', async () => {
    const team = await scene.team();
    const id = await create(team, { email: 'a@example.org' });
    for (const unsubscribed of [true, true, false, true])
      await call(team, 'PATCH', `/contacts/${id}`, { unsubscribed });
    expect(await consents(id)).toEqual(['unsubscribed', 'resubscribed', 'unsubscribed']);
    expect((await read(team, id)).unsubscribed).toBe(true);
  });

  it('refuses the address of another contact', async () => {
    const team = await scene.team();
    await create(team, { email: 'a@example.org' });
    const id = await create(team, { email: 'b@example.org' });
    expect(await call(team, 'PATCH', `/contacts/${id}`, { email: 'A@example.org' })).toMatchObject({
      status: 422,
      body: { name: 'validation_error', message: expect.stringContaining('another contact') },
    });
  });
});

describe('DELETE /contacts/{contact}', () => {
  it('erases all personal data; the consent record keeps a hash, and the last event keeps the contact', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contact-properties', { key: 'city', type: 'string' });
    const segment = (await call(team, 'POST', '/segments', { name: 'By hand' })).body.id;
    const topic = (await call(team, 'POST', '/topics', { name: 'News', default_subscription: 'opt_out' })).body.id;
    const id = await create(team, {
      email: 'Erased.Person@example.org',
      first_name: 'Unmistakable',
      unsubscribed: true,
      properties: { city: 'Atlantis' },
      segments: [segment],
      topics: [{ id: topic, subscription: 'opt_in' }],
    });
    expect((await call(team, 'DELETE', '/contacts/erased.person@example.org')).body).toEqual({
      object: 'contact',
      id,
      contact: id,
      deleted: true,
    });
    for (const method of ['GET', 'DELETE']) {
      expect(await call(team, method, `/contacts/${id}`)).toMatchObject({ status: 404, body: { name: 'not_found' } });
    }
    const { db } = scene.app.world;
    for (const table of ['contacts', 'contact_texts', 'segment_members', 'contact_topics', 'consent_records']) {
      const rows = JSON.stringify(await db.all(`select * from ${table}`)).toLowerCase();
      for (const trace of ['erased.person', 'unmistakable', 'atlantis']) expect(rows, table).not.toContain(trace);
    }
    for (const table of ['segment_members', 'contact_topics']) {
      expect(await db.all(`select * from ${table} where contact_id = ?`, [id])).toEqual([]);
    }
    const hash = createHash('sha256').update('erased.person@example.org').digest('hex');
    const kept = await db.all<{ email_hash: string }>('select email_hash from consent_records where contact_id = ?', [
      id,
    ]);
    expect(kept.map((row) => row.email_hash)).toEqual([hash, hash]);
    const [event, ...more] = await scene.events(id);
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      type: 'contact.deleted',
      data: { email: 'Erased.Person@example.org', segment_ids: [segment], unsubscribed: true },
    });
    expect((await call(team, 'GET', '/usage')).body.contacts.used).toBe(0);
    expect(await create(team, { email: 'erased.person@example.org' })).not.toBe(id);
  });
});

describe('the older /audiences/{id}/contacts', () => {
  it('create, read, change and erase contacts of a segment', async () => {
    const team = await scene.team();
    const segment = (await call(team, 'POST', '/segments', { name: 'Old audience' })).body.id;
    const outside = await create(team, { email: 'outside@example.org' });
    const path = `/audiences/${segment}/contacts`;
    const { status, body } = await call(team, 'POST', path, { email: 'in@example.org', first_name: 'I' });
    expect([status, body.object]).toEqual([201, 'contact']);
    expect((await call(team, 'GET', path)).body.data.map((one: { id: string }) => one.id)).toEqual([body.id]);
    expect((await call(team, 'GET', `${path}/in@example.org`)).body).toMatchObject({ id: body.id, properties: {} });
    expect((await call(team, 'PATCH', `${path}/${body.id}`, { last_name: 'L' })).body).toEqual(body);
    expect((await read(team, body.id)).last_name).toBe('L');
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const given = method === 'PATCH' ? { last_name: 'L' } : undefined;
      expect(await call(team, method, `${path}/${outside}`, given)).toMatchObject({ status: 404 });
    }
    expect((await call(team, 'DELETE', `${path}/in@example.org`)).body).toEqual({
      ...body,
      contact: body.id,
      deleted: true,
    });
    expect((await call(team, 'GET', path)).body.data).toEqual([]);
    const nowhere = '/audiences/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e99/contacts';
    expect(await call(team, 'POST', nowhere, { email: 'in@example.org' })).toMatchObject({ status: 404 });
  });
});
