import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const declare = async (team: Team, body: object): Promise<string> =>
  (await call(team, 'POST', '/contact-properties', body)).body.id;

describe('POST /contact-properties', () => {
  it('declares a key and returns a reference to it', async () => {
    const team = await scene.team();
    const { status, body } = await call(team, 'POST', '/contact-properties', {
      key: 'Plan_2',
      type: 'string',
      fallback_value: 'free',
    });
    expect([status, body]).toEqual([201, { object: 'contact_property', id: body.id }]);
    const item = {
      id: body.id,
      key: 'Plan_2',
      type: 'string',
      fallback_value: 'free',
      created_at: new Date(scene.clock.now()).toISOString(),
    };
    const read = await call(team, 'GET', `/contact-properties/${body.id}`);
    expect(read.body).toEqual({ object: 'contact_property', ...item });
    expect((await call(team, 'GET', '/contact-properties')).body).toEqual({
      object: 'list',
      has_more: false,
      data: [item],
    });
  });

  it('refuses a key that exists in any letter case, and accepts it again after its deletion', async () => {
    const team = await scene.team();
    const id = await declare(team, { key: 'plan', type: 'string' });
    for (const key of ['plan', 'PLAN']) {
      expect(await call(team, 'POST', '/contact-properties', { key, type: 'number' })).toMatchObject({
        status: 422,
        body: { name: 'invalid_parameter', message: expect.stringContaining(key) },
      });
    }
    await call(team, 'DELETE', `/contact-properties/${id}`);
    expect(await declare(team, { key: 'PLAN', type: 'number' })).not.toBe(id);
    expect(
      (await call(await scene.team(), 'POST', '/contact-properties', { key: 'plan', type: 'string' })).status,
    ).toBe(201);
  });

  it.each([
    [{ key: 'a b', type: 'string' }, 400, 'validation_error'],
    [{ key: '', type: 'string' }, 400, 'validation_error'],
    [{ key: 'a'.repeat(51), type: 'string' }, 400, 'validation_error'],
    [{ key: 'ä', type: 'string' }, 400, 'validation_error'],
    [{ key: 'a', type: 'boolean' }, 400, 'validation_error'],
    [{ key: 'a', type: 'string', fallback_value: true }, 400, 'validation_error'],
    [{ key: 'a' }, 422, 'missing_required_field'],
    [{ type: 'string' }, 422, 'missing_required_field'],
    [{ key: 'a', type: 'number', fallback_value: '7' }, 422, 'invalid_parameter'],
    [{ key: 'a', type: 'string', fallback_value: 7 }, 422, 'invalid_parameter'],
    [{ key: 'a', type: 'number', fallback_value: 1e16 }, 422, 'invalid_parameter'],
    [{ key: 'a', type: 'string', fallback_value: 'x'.repeat(501) }, 422, 'invalid_parameter'],
    [{ key: 'First_Name', type: 'string' }, 422, 'invalid_parameter'],
    [{ key: '__proto__', type: 'string' }, 422, 'invalid_parameter'],
    [{ key: 'segment_ids', type: 'string' }, 422, 'invalid_parameter'],
    [{ key: 'Opted_in_topic_ids', type: 'number' }, 422, 'invalid_parameter'],
    [{ key: 'opted_out_topic_ids', type: 'string' }, 422, 'invalid_parameter'],
  ])('refuses %j with %i %s', async (body, status, name) => {
    const team = await scene.team();
    expect(await call(team, 'POST', '/contact-properties', body)).toMatchObject({ status, body: { name } });
  });
});

describe('PATCH /contact-properties/{id}', () => {
  it('changes only the fallback, and null removes it', async () => {
    const team = await scene.team();
    const id = await declare(team, { key: 'seats', type: 'number', fallback_value: 1 });
    const path = `/contact-properties/${id}`;
    expect((await call(team, 'PATCH', path, { fallback_value: 2.5 })).body).toEqual({ object: 'contact_property', id });
    expect((await call(team, 'GET', path)).body.fallback_value).toBe(2.5);
    await call(team, 'PATCH', path, {});
    expect((await call(team, 'GET', path)).body.fallback_value).toBe(2.5);
    await call(team, 'PATCH', path, { fallback_value: null });
    expect((await call(team, 'GET', path)).body.fallback_value).toBe(null);
    expect(await call(team, 'PATCH', path, { fallback_value: 'two' })).toMatchObject({ status: 422 });
    expect(await call(team, 'PATCH', path, { key: 'other' })).toMatchObject({ status: 400 });
  });
});

describe('DELETE /contact-properties/{id}', () => {
  it('does not revive filters, even nested ones, when the deleted key is declared again', async () => {
    const team = await scene.team();
    const id = await declare(team, { key: 'plan', type: 'string' });
    await call(team, 'POST', '/contacts', { email: 'free@example.org', properties: { plan: 'free' } });
    await call(team, 'POST', '/contacts', { email: 'pro@example.org', properties: { plan: 'pro' } });
    const filter = { not: [{ field: 'properties.plan', op: 'eq', value: 'free' }] };
    const members = async (segment: string): Promise<string[]> =>
      (await call(team, 'GET', `/segments/${segment}/contacts`)).body.data.map((one: { email: string }) => one.email);
    const { body: old } = await call(team, 'POST', '/segments', { name: 'Not free', filter });
    expect(await members(old.id)).toEqual(['pro@example.org']);
    await call(team, 'DELETE', `/contact-properties/${id}`);
    expect(await members(old.id)).toEqual([]);
    await declare(team, { key: 'plan', type: 'string' });
    expect(await members(old.id)).toEqual([]);
    // A filter that is written now names the new property, which has no values yet.
    const { body: later } = await call(team, 'POST', '/segments', { name: 'Not free, again', filter });
    expect(await members(later.id)).toHaveLength(2);
  });

  it('removes the key from every contact at once', async () => {
    const team = await scene.team();
    const id = await declare(team, { key: 'plan', type: 'string' });
    await declare(team, { key: 'seats', type: 'number' });
    const contact = (
      await call(team, 'POST', '/contacts', { email: 'a@example.org', properties: { plan: 'Pro', seats: 3 } })
    ).body.id;
    const filter = { all: [{ field: 'properties.plan', op: 'eq', value: 'pro' }] };
    const segment = (await call(team, 'POST', '/segments', { name: 'Pro', filter })).body.id;
    const inside = async () => (await call(team, 'GET', `/segments/${segment}/contacts`)).body.data.length;
    expect(await inside()).toBe(1);
    expect((await call(team, 'DELETE', `/contact-properties/${id}`)).body).toEqual({
      object: 'contact_property',
      id,
      deleted: true,
      segments: [{ id: segment, name: 'Pro' }],
      broadcasts: [],
    });
    expect(await call(team, 'GET', `/contact-properties/${id}`)).toMatchObject({ status: 404 });
    expect(await call(team, 'DELETE', `/contact-properties/${id}`)).toMatchObject({ status: 404 });
    const properties = async () => (await call(team, 'GET', `/contacts/${contact}`)).body.properties;
    expect([await properties(), await inside()]).toEqual([{ seats: 3 }, 0]);
    await declare(team, { key: 'plan', type: 'string' });
    expect([await properties(), await inside()]).toEqual([{ seats: 3 }, 0]);
    await scene.app.jobs.find(({ name }) => name === 'clear-deleted-audience')?.run();
    expect(await properties()).toEqual({ seats: 3 });
    const { db } = scene.app.world;
    for (const table of ['contact_texts', 'contact_properties']) {
      const column = table === 'contact_texts' ? 'property_id' : 'id';
      expect(await db.get(`select 1 as one from ${table} where ${column} = ?`, [id])).toBeUndefined();
    }
    expect(JSON.stringify(await db.all('select * from contacts where id = ?', [contact]))).not.toMatch(/\bPro\b/);
  });

  it('widens no segment: a condition on it is unknown, even below `not`, and the other conditions still decide', async () => {
    const team = await scene.team();
    const id = await declare(team, { key: 'nomail', type: 'string' });
    for (const [email, nomail] of [
      ['one@x.example', 'yes'],
      ['two@x.example', 'no'],
      ['three@x.example', undefined],
      ['vip@x.example', 'yes'],
    ]) {
      await call(team, 'POST', '/contacts', { email, properties: nomail === undefined ? {} : { nomail } });
    }
    const gone = { field: 'properties.nomail', op: 'eq', value: 'yes' };
    const other = { field: 'email', op: 'contains', value: 'x.example' };
    const vip = { field: 'email', op: 'eq', value: 'vip@x.example' };
    const filters = {
      'not gone': { not: [gone] },
      'all but': { all: [other, { not: [gone] }] },
      neither: { not: [gone, vip] },
      'no group of both': { not: [{ all: [gone, vip] }] },
      either: { any: [vip, { not: [gone] }] },
    };
    const ids: Record<string, string> = {};
    for (const [name, filter] of Object.entries(filters)) {
      ids[name] = (await call(team, 'POST', '/segments', { name, filter })).body.id;
    }
    const members = async (name: string): Promise<string[]> =>
      (await call(team, 'GET', `/segments/${ids[name]}/contacts`)).body.data.map(
        ({ email }: { email: string }) => email.split('@')[0],
      );
    expect(await members('all but')).toEqual(['three', 'two']);
    const { status, body } = await call(team, 'DELETE', `/contact-properties/${id}`);
    expect([status, body.segments.map(({ name }: { name: string }) => name).sort()]).toEqual([
      200,
      Object.keys(filters).sort(),
    ]);
    expect(await members('not gone')).toEqual([]);
    expect(await members('all but')).toEqual([]);
    expect(await members('neither')).toEqual([]);
    expect(await members('no group of both')).toEqual(['three', 'two', 'one']);
    expect(await members('either')).toEqual(['vip']);
    const metrics = await call(team, 'GET', `/segments/${ids['all but']}/metrics`);
    expect(metrics.body).toMatchObject({ contacts: 0, subscribed: 0 });
  });
});
