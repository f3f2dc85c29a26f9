import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'], config: { plans: { tiny: { name: 'Tiny', contact_limit: 3 } } } });
});
afterAll(() => scene.close());

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  scene.api(method, path, { key: team.key, headers, ...(body === undefined ? {} : { body }) });
const create = (body: unknown, headers?: Record<string, string>) => call('POST', '/contacts/batch', body, headers);
const permissive = { 'x-batch-validation': 'permissive' };
const fetchContact = async (email: string) => (await call('GET', `/contacts/${email}`)).body;
const countContacts = async (): Promise<number> => (await call('GET', '/usage')).body.contacts.used;
const listEvents = async (email: string): Promise<string[]> =>
  (await scene.events((await fetchContact(email)).id)).map(({ type }) => type);

/** Begins with a new team that has a property, a segment and a topic. */
async function prepare() {
  team = await scene.team();
  await call('POST', '/contact-properties', { key: 'plan', type: 'string' });
  const segment = (await call('POST', '/segments', { name: 'S' })).body.id as string;
  const topic = (await call('POST', '/topics', { name: 'T', default_subscription: 'opt_out' })).body.id as string;
  return { segment, topic };
}

describe('POST /contacts/batch', () => {
  it('creates and updates contacts as single requests do, and returns each in the order of the request', async () => {
    const { segment, topic } = await prepare();
    await call('POST', '/contacts', {
      email: 'old@example.org',
      first_name: 'Old',
      last_name: 'Name',
      unsubscribed: true,
    });
    const made = await create([
      { email: 'new@example.org', first_name: 'Ada', properties: { plan: 'pro' }, segments: [segment] },
      { email: 'OLD@example.org', first_name: 'New', unsubscribed: false, segments: [{ id: segment }] },
      { email: 'out@example.org', unsubscribed: true, topics: [{ id: topic, subscription: 'opt_in' }] },
    ]);
    expect(made.status).toBe(201);
    const contacts = await Promise.all(['new', 'old', 'out'].map((name) => fetchContact(`${name}@example.org`)));
    expect(made.body).toEqual({
      data: [
        { index: 0, id: contacts[0].id, status: 'created' },
        { index: 1, id: contacts[1].id, status: 'updated' },
        { index: 2, id: contacts[2].id, status: 'created' },
      ],
    });
    expect(contacts).toMatchObject([
      { first_name: 'Ada', properties: { plan: 'pro' }, unsubscribed: false },
      { first_name: 'New', last_name: 'Name', unsubscribed: true },
      { unsubscribed: true },
    ]);
    expect((await call('GET', `/segments/${segment}/metrics`)).body.contacts).toBe(2);
    expect((await call('GET', '/contacts/out@example.org/topics')).body.data[0].subscription).toBe('opt_in');
    expect(await Promise.all(['new', 'old', 'out'].map((name) => listEvents(`${name}@example.org`)))).toEqual([
      ['contact.created'],
      ['contact.created', 'contact.updated'],
      ['contact.created'],
    ]);
    const consents = await scene.app.world.db.all(
      'select action from consent_records where contact_id = ? order by id',
      [contacts[2].id],
    );
    expect(consents).toEqual([{ action: 'unsubscribed' }, { action: 'opt_in' }]);
    const filter = { all: [{ field: 'properties.plan', op: 'eq', value: 'pro' }] };
    expect((await call('POST', '/segments/preview', { filter })).body.contacts).toBe(1);
    expect(await countContacts()).toBe(3);
  });

  it('takes 1,000 contacts and refuses 1,001, an empty list and anything else than a list', async () => {
    await prepare();
    const items = Array.from({ length: 1000 }, (_, i) => ({
      email: `n${i}@example.org`,
      properties: { plan: `p${i}` },
    }));
    const made = await create(items);
    expect([made.status, made.body.data.length]).toEqual([201, 1000]);
    expect(await countContacts()).toBe(1000);
    expect((await fetchContact('n999@example.org')).properties).toEqual({ plan: 'p999' });
    const again = await create(items.map((item) => ({ ...item, properties: { plan: 'x' } })));
    expect(again.body.data.map(({ id }: { id: string }) => id)).toEqual(
      made.body.data.map(({ id }: { id: string }) => id),
    );
    expect((await fetchContact('n500@example.org')).properties).toEqual({ plan: 'x' });
    for (const body of [[...items, { email: 'more@example.org' }], [], {}, '"x"']) {
      const refused = await create(body, permissive);
      expect(refused).toMatchObject({ status: 400, body: { name: 'validation_error' } });
      expect(refused.body.message).toContain('1 to 1,000 contacts');
    }
  });

  it('starts automations and notifies webhooks for each contact', async () => {
    const { segment } = await prepare();
    const automations: string[] = [];
    for (const trigger of [
      { event_name: 'rasket:contact.created' },
      { event_name: 'rasket:contact.added_to_segment', segment_id: segment },
    ]) {
      const steps = [{ key: 'start', type: 'trigger', config: trigger }];
      const body = { name: trigger.event_name, status: 'enabled', connections: [], steps };
      const made = await call('POST', '/automations', body);
      expect(made.status, made.text).toBe(201);
      automations.push(made.body.id);
    }
    await create(Array.from({ length: 20 }, (_, i) => ({ email: `n${i}@example.org`, segments: [segment] })));
    for (const id of automations) {
      const runs = await scene.app.world.db.all<{ batch: number }>(
        'select batch from automation_runs where automation_id = ?',
        [id],
      );
      expect(runs).toHaveLength(20);
      expect(new Set(runs.map(({ batch }) => batch)).size).toBe(1);
    }
    expect(await listEvents('n19@example.org')).toEqual(['contact.created']);
  });

  it('keeps an address that was erased as opted out unsubscribed, unless its item states consent', async () => {
    const { topic } = await prepare();
    const emails = ['a@example.org', 'b@example.org'];
    for (const email of emails) {
      await call('POST', '/contacts', { email, unsubscribed: true, topics: [{ id: topic, subscription: 'opt_out' }] });
      await call('DELETE', `/contacts/${email}`);
    }
    await create([{ email: emails[0] }, { email: emails[1], unsubscribed: false }]);
    expect((await Promise.all(emails.map(fetchContact))).map(({ unsubscribed }) => unsubscribed)).toEqual([
      true,
      false,
    ]);
  });

  it('asks the contacts of a batch to confirm a topic that requires it', async () => {
    await prepare();
    const template = {
      name: 'C',
      subject: 'C',
      html: '<a href="{{{CONFIRMATION_URL}}}">yes</a>',
      from: 'a@b.example',
      variables: [{ key: 'CONFIRMATION_URL', type: 'string' }],
    };
    const { id } = (await call('POST', '/templates', template)).body;
    await call('POST', `/templates/${id}/publish`);
    const body = { name: 'D', default_subscription: 'opt_out', confirmation: 'required', confirmation_template_id: id };
    const asked = await call('POST', '/topics', body);
    expect(asked.status, asked.text).toBe(201);
    const topics = [{ id: asked.body.id, subscription: 'opt_in' }];
    await create([
      { email: 'a@example.org', topics },
      { email: 'b@example.org', topics },
    ]);
    for (const name of ['a', 'b']) {
      const { data } = (await call('GET', `/contacts/${name}@example.org/topics`)).body;
      const found = data.find((one: { name: string }) => one.name === 'D');
      expect(found).toMatchObject({ subscription: 'opt_out', confirmation: 'pending' });
    }
  });

  const BAD: [string, object, number, string, string][] = [
    ['breaks the contract', { email: 7 }, 400, 'validation_error', 'email'],
    ['has an unknown field', { email: 'x@example.org', colour: 'red' }, 400, 'validation_error', 'colour'],
    ['has no address', { email: 'nobody' }, 400, 'validation_error', 'email'],
    [
      'has an unknown property',
      { email: 'x@example.org', properties: { other: 1 } },
      422,
      'invalid_parameter',
      'properties',
    ],
    [
      'has a value of another type',
      { email: 'x@example.org', properties: { plan: 1 } },
      422,
      'invalid_parameter',
      'properties.plan',
    ],
    [
      'names an unknown segment',
      { email: 'x@example.org', segments: [randomUUID()] },
      422,
      'invalid_parameter',
      'segments.0',
    ],
    [
      'names an unknown topic',
      { email: 'x@example.org', topics: [{ id: randomUUID(), subscription: 'opt_in' }] },
      422,
      'invalid_parameter',
      'topics.0.id',
    ],
    ['repeats an address', { email: 'Good@example.org' }, 422, 'validation_error', 'email'],
  ];

  it.each(BAD)('writes no contact if one item %s, and names index and field', async (_, item, status, name, path) => {
    await prepare();
    const refused = await create([{ email: 'good@example.org' }, item, { email: 'other@example.org' }]);
    expect(refused).toMatchObject({ status, body: { statusCode: status, name } });
    expect(refused.body.errors.map((error: { path: string }) => error.path)).toEqual([`1.${path}`]);
    expect(await countContacts()).toBe(0);
    expect((await call('GET', '/contacts/good@example.org')).status).toBe(404);
  });

  it('writes the valid items in permissive mode, and names the others with index, field and message', async () => {
    await prepare();
    const items = [{ email: 'good@example.org' }, ...BAD.map(([, item]) => item), { email: 'last@example.org' }];
    const made = await create(items, permissive);
    expect([made.status, made.body.data.map(({ index }: { index: number }) => index)]).toEqual([
      201,
      [0, BAD.length + 1],
    ]);
    const errors = made.body.errors.map((error: { index: number; field: string }) => [error.index, error.field]);
    expect(errors).toEqual(BAD.map(([, , , , path], i) => [i + 1, path]));
    expect(await countContacts()).toBe(2);
  });

  it('refuses new contacts beyond the plan: all of them in strict mode, those beyond it in permissive mode', async () => {
    await prepare();
    await scene.app.world.db.run('update teams set plan_code = ? where id = ?', ['tiny', team.id]);
    const items = ['a', 'b', 'c', 'd', 'a2'].map((name) => ({ email: `${name}@example.org` }));
    const strict = await create(items);
    expect(strict).toMatchObject({ status: 422, body: { name: 'validation_error' } });
    expect(strict.body.message).toMatch(/^Contact 3: The plan's limit of 3 contacts is reached.*\(and 1 more\)$/);
    expect(await countContacts()).toBe(0);
    const made = await create(items, permissive);
    expect([made.body.data.length, made.body.errors.map(({ index }: { index: number }) => index)]).toEqual([3, [3, 4]]);
    const updated = await create(items.slice(0, 3));
    expect(updated.body.data.map(({ status }: { status: string }) => status)).toEqual([
      'updated',
      'updated',
      'updated',
    ]);
  });

  it('writes nothing again if it is repeated with the same Idempotency-Key', async () => {
    await prepare();
    const headers = { 'idempotency-key': randomUUID() };
    const first = await create([{ email: 'a@example.org' }], headers);
    expect(await create([{ email: 'a@example.org' }], headers)).toMatchObject({ status: 201, text: first.text });
    expect(await listEvents('a@example.org')).toEqual(['contact.created']);
  });

  it('two batches with the same addresses at once create each contact once', async () => {
    await prepare();
    const items = Array.from({ length: 300 }, (_, i) => ({ email: `n${i}@example.org` }));
    const made = await Promise.all([create(items), create(items.toReversed()), create(items)]);
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
    const created = made
      .flatMap(({ body }) => body.data)
      .filter(({ status }: { status: string }) => status === 'created');
    expect([created.length, await countContacts()]).toEqual([300, 300]);
  });

  it('needs a key with full access', async () => {
    await prepare();
    const key = await team.sendingKey();
    expect((await scene.api('POST', '/contacts/batch', { key, body: [{ email: 'a@example.org' }] })).status).toBe(401);
  });
});
