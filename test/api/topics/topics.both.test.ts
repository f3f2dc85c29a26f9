import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mayMail } from '../../../src/features/audience/contacts/consent.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const make = async (team: Team, name: string, more: object = {}): Promise<string> =>
  (await call(team, 'POST', '/topics', { name, default_subscription: 'opt_in', ...more })).body.id;
const contact = async (team: Team, email: string, more: object = {}): Promise<string> =>
  (await call(team, 'POST', '/contacts', { email, ...more })).body.id;

describe('the /topics routes', () => {
  it('create, read, list, change and delete', async () => {
    const team = await scene.team();
    const body = { name: 'News', default_subscription: 'opt_out', description: 'What is new', visibility: 'public' };
    const created = await call(team, 'POST', '/topics', body);
    const { id } = created.body;
    expect([created.status, created.body]).toEqual([201, { object: 'topic', id }]);
    const asks = { confirmation: 'none', confirmation_template_id: null, quiet_hours: null };
    const item = { id, ...body, ...asks, created_at: new Date(scene.clock.now()).toISOString() };
    expect((await call(team, 'GET', `/topics/${id}`)).body).toEqual({ object: 'topic', ...item });
    expect((await call(team, 'GET', '/topics')).body).toEqual({ object: 'list', has_more: false, data: [item] });
    const change = { id, name: 'Old news', description: null, visibility: 'private' };
    expect((await call(team, 'PATCH', `/topics/${id}`, change)).body).toEqual({ object: 'topic', id });
    expect((await call(team, 'GET', `/topics/${id}`)).body).toEqual({ object: 'topic', ...item, ...change });
    expect((await call(team, 'DELETE', `/topics/${id}`)).body).toEqual({ object: 'topic', id, deleted: true });
    expect(await call(team, 'GET', `/topics/${id}`)).toMatchObject({ status: 404 });
  });

  it('make a topic private and without a description by default', async () => {
    const team = await scene.team();
    const id = await make(team, 'News');
    expect((await call(team, 'GET', `/topics/${id}`)).body).toMatchObject({ visibility: 'private', description: null });
  });

  it('set quiet hours, which keep until they are changed or removed', async () => {
    const team = await scene.team();
    const quiet = { from: '21:00', to: '08:00' };
    const id = await make(team, 'Night', { quiet_hours: quiet });
    const shown = async () => (await call(team, 'GET', `/topics/${id}`)).body.quiet_hours;
    await call(team, 'PATCH', `/topics/${id}`, { name: 'Day' });
    expect(await shown()).toEqual(quiet);
    await call(team, 'PATCH', `/topics/${id}`, { quiet_hours: { from: '12:00', to: '13:30' } });
    expect(await shown()).toEqual({ from: '12:00', to: '13:30' });
    const same = await call(team, 'PATCH', `/topics/${id}`, { quiet_hours: { from: '12:00', to: '12:00' } });
    expect(same).toMatchObject({ body: { message: 'quiet_hours: from and to must be different times.' } });
    await call(team, 'PATCH', `/topics/${id}`, { quiet_hours: null });
    expect(await shown()).toBeNull();
  });

  it('allow one live topic of a name, and do not change the default', async () => {
    const team = await scene.team();
    const one = await make(team, 'One');
    const two = await make(team, 'Two');
    const refused = { status: 422, body: { name: 'invalid_parameter' } };
    expect(await call(team, 'POST', '/topics', { name: 'One', default_subscription: 'opt_in' })).toMatchObject(refused);
    expect(await call(team, 'PATCH', `/topics/${two}`, { name: 'One' })).toMatchObject(refused);
    expect(await call(team, 'PATCH', `/topics/${two}`, { default_subscription: 'opt_in' })).toMatchObject(refused);
    await call(team, 'DELETE', `/topics/${one}`);
    expect((await call(team, 'PATCH', `/topics/${two}`, { name: 'One' })).status).toBe(200);
  });

  it.each([
    [{ name: 'x'.repeat(51), default_subscription: 'opt_in' }, 400],
    [{ name: ' ', default_subscription: 'opt_in' }, 400],
    [{ name: 'x', default_subscription: 'maybe' }, 400],
    [{ name: 'x', default_subscription: 'opt_in', description: 'x'.repeat(201) }, 400],
    [{ name: 'x', default_subscription: 'opt_in', visibility: 'hidden' }, 400],
    [{ name: 'x' }, 422],
    [{ name: 'x', default_subscription: 'opt_in', quiet_hours: { from: '24:00', to: '08:00' } }, 400],
    [{ name: 'x', default_subscription: 'opt_in', quiet_hours: { from: '21:00' } }, 422],
  ])('answer %j with %i', async (body, status) => {
    expect((await call(await scene.team(), 'POST', '/topics', body)).status).toBe(status);
  });
});

describe('/contacts/{contact}/topics', () => {
  it('shows the contact’s choice or the default for every live topic, page by page', async () => {
    const team = await scene.team();
    const id = await contact(team, 'a@example.org');
    const news = await make(team, 'News');
    const offers = await make(team, 'Offers', { default_subscription: 'opt_out' });
    const gone = await make(team, 'Gone');
    await call(team, 'DELETE', `/topics/${gone}`);
    const shown = async (query = '') =>
      (await call(team, 'GET', `/contacts/a@example.org/topics${query}`)).body.data.map(
        (one: { name: string; subscription: string }) => `${one.name} ${one.subscription}`,
      );
    expect(await shown()).toEqual(['Offers opt_out', 'News opt_in']);
    const body = { topics: [{ id: offers, subscription: 'opt_in' }] };
    expect((await call(team, 'PATCH', `/contacts/${id}/topics`, body)).body).toEqual({
      object: 'contact_topics',
      id,
      contact_id: id,
      topics: body.topics,
    });
    expect((await call(team, 'PATCH', `/contacts/${id}/topics`, [{ id: news, subscription: 'opt_out' }])).status).toBe(
      200,
    );
    expect(await shown()).toEqual(['Offers opt_in', 'News opt_out']);
    expect(await shown(`?limit=1&after=${offers}`)).toEqual(['News opt_out']);
    const events = (await scene.events(id)).map((event) => event.type);
    expect(events).toEqual(['contact.created']);
  });

  it('refuses an invalid choice, and topics of others', async () => {
    const team = await scene.team();
    const id = await contact(team, 'a@example.org');
    const topic = await make(team, 'News');
    const foreign = await make(await scene.team(), 'News');
    for (const [body, status] of [
      [{}, 422],
      [{ topics: [{ id: topic, subscription: 'maybe' }] }, 400],
      [{ topics: [{ id: topic }] }, 422],
      [[7], 400],
      [{ topics: [{ id: foreign, subscription: 'opt_in' }] }, 422],
    ] as const) {
      expect((await call(team, 'PATCH', `/contacts/${id}/topics`, body)).status, JSON.stringify(body)).toBe(status);
    }
  });

  it('affects a condition of segments', async () => {
    const team = await scene.team();
    const topic = await make(team, 'News', { default_subscription: 'opt_out' });
    await contact(team, 'in@example.org', { topics: [{ id: topic, subscription: 'opt_in' }] });
    await contact(team, 'out@example.org');
    const count = async (subscription: string) =>
      (await call(team, 'POST', '/segments/preview', { filter: { all: [{ topic, subscription }] } })).body.contacts;
    expect([await count('opt_in'), await count('opt_out')]).toEqual([1, 1]);
  });
});

describe('the consent check of a mass mailing', () => {
  it('gives the reason for everyone it excludes', async () => {
    const team = await scene.team();
    const wanted = await make(team, 'Wanted');
    const asked = await make(team, 'Asked', { default_subscription: 'opt_out' });
    const fine = await contact(team, 'fine@example.org', { topics: [{ id: asked, subscription: 'opt_in' }] });
    const left = await contact(team, 'left@example.org', { unsubscribed: true });
    const choosy = await contact(team, 'choosy@example.org', { topics: [{ id: wanted, subscription: 'opt_out' }] });
    const bounced = await contact(team, 'bounced@example.org');
    await call(team, 'POST', '/suppressions', { email: 'Bounced@example.org' });
    const gone = await contact(team, 'gone@example.org');
    await call(team, 'DELETE', `/contacts/${gone}`);
    const contactIds = [fine, left, choosy, bounced, gone];
    const why = async (topicId: string | null) => {
      const excluded = await mayMail(scene.app.world.db, team.id, { contactIds, topicId });
      return contactIds.map((id) => excluded.get(id));
    };
    expect(await why(null)).toEqual([undefined, 'unsubscribed', undefined, 'suppressed', 'deleted']);
    expect(await why(wanted)).toEqual([undefined, 'unsubscribed', 'topic_opt_out', 'suppressed', 'deleted']);
    expect(await why(asked)).toEqual([undefined, 'unsubscribed', 'topic_opt_out', 'topic_opt_out', 'deleted']);
  });
});
