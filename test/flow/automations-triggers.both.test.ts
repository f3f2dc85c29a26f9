// what the platform tells of contacts and of their mail --> runs of automations, and where those end
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Executor } from '../../src/platform/db/index.ts';
import { importRows } from '../../src/features/audience/contacts/import-rows.ts';
import { importedIn, uploadIn } from '../api/contact-imports/importing.ts';
import { line, step, supply, type Supplies } from '../api/automations/graph.ts';
import { linksTo, press, visit } from '../rig/preference-pages.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { engagements, follow, publishTracking, sendHtml } from './reader.ts';
import { HOUR } from './mail.ts';

let scene: Scene;
let has: Supplies;
let domain: { id: string; name: string };
beforeAll(async () => {
  scene = await startScene({ config: { tracking: { scheme: 'http' } } });
});
afterAll(() => scene.close());
beforeEach(async () => {
  has = await supply(scene);
  [domain] = (await call('GET', '/domains')).data;
  scene.sink.messages.length = 0;
});

async function call(method: string, path: string, body?: unknown) {
  const answer = await scene.api(method, path, { key: has.team.key, ...(body === undefined ? {} : { body }) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body;
}
const trigger = (event: string) => ({ key: 'start', type: 'trigger', config: { event_name: `rasket:${event}` } });
const automate = async (event: string, ...steps: { key: string }[]): Promise<string> =>
  (await call('POST', '/automations', { name: event, status: 'enabled', ...line(trigger(event), ...steps) })).id;
const runs = async (id: string): Promise<{ id: string; status: string; error: string | null }[]> =>
  (await call('GET', `/automations/${id}/runs?limit=100`)).data;
const payloads = async (id: string): Promise<[string, unknown][]> => {
  const sql = 'select contact_id, payload from automation_runs where automation_id = ? order by id';
  const rows = await scene.app.world.db.all<{ contact_id: string; payload: string }>(sql, [id]);
  return rows.map((row) => [row.contact_id, JSON.parse(row.payload)]);
};
const thanks = (key = 'mail') =>
  step(key, 'send_email', { template: { id: has.template, variables: { PRODUCT: 'Tea' } } });

describe('an automation that subscribes its contacts', () => {
  const read = async () => {
    const { unsubscribed, first_name } = await call('GET', `/contacts/${has.contact}`);
    const [{ subscription }] = (await call('GET', `/contacts/${has.contact}/topics`)).data;
    return { unsubscribed, first_name, subscription };
  };
  const subscribing = () => [
    step('all', 'contact_update', { unsubscribed: false, first_name: 'Ada' }),
    step('news', 'topic_update', { topic_id: has.topic, subscription: 'opt_in' }),
  ];

  it('an automation that subscribes its contacts leaves alone what a contact has left itself, and says so at the steps', async () => {
    const { email } = await call('GET', `/contacts/${has.contact}`);
    await call('PATCH', `/contacts/${has.contact}/topics`, [{ id: has.topic, subscription: 'opt_in' }]);
    const id = await automate('contact.topic_changed', ...subscribing());
    const contact = { id: has.contact, email };
    const { preferences } = await linksTo(scene, has.team, contact);
    await press(scene, await visit(scene, preferences), 'unsubscribe_all');
    const { unsubscribe } = await linksTo(scene, has.team, contact, { topicId: has.topic });
    await visit(scene, unsubscribe, { body: 'List-Unsubscribe=One-Click' });
    await scene.settled();
    expect(await read()).toEqual({ unsubscribed: true, first_name: 'Ada', subscription: 'opt_out' });
    const [run] = await runs(id);
    const { steps } = await call('GET', `/automations/${id}/runs/${run?.id}`);
    expect(steps.map((one: { key: string; output: unknown }) => [one.key, one.output])).toEqual([
      ['start', null],
      ['all', { skipped: 'unsubscribed' }],
      ['news', { skipped: 'topic_opt_out' }],
    ]);
    const dry = await call('POST', `/automations/${id}/dry-run`, { contact_id: has.contact });
    expect(dry.steps).toMatchObject([
      {},
      { outcome: 'done', reason: 'Sets first_name to "Ada". The contact stays unsubscribed, as it decided itself.' },
      { outcome: 'skips', reason: 'The contact is skipped: topic_opt_out.' },
    ]);
  });

  it('an automation that subscribes its contacts subscribes a contact that a call had unsubscribed', async () => {
    await call('PATCH', `/contacts/${has.contact}`, { unsubscribed: true });
    await call('PATCH', `/contacts/${has.contact}/topics`, [{ id: has.topic, subscription: 'opt_out' }]);
    await automate('contact.updated', ...subscribing());
    await call('PATCH', `/contacts/${has.contact}`, { last_name: 'Lovelace' });
    await scene.settled();
    expect(await read()).toEqual({ unsubscribed: false, first_name: 'Ada', subscription: 'opt_in' });
  });
});

describe('the choice of a topic', () => {
  it('starts a run once, by API and by automation, and choosing the same again starts none', async () => {
    const id = await automate('contact.topic_changed');
    const choose = (subscription: string) =>
      call('PATCH', `/contacts/${has.contact}/topics`, [{ id: has.topic, subscription }]);
    await choose('opt_in');
    await choose('opt_in');
    await choose('opt_out');
    await scene.settled();
    expect(await payloads(id)).toEqual([
      [has.contact, { topic_id: has.topic, subscription: 'opt_in' }],
      [has.contact, { topic_id: has.topic, subscription: 'opt_out' }],
    ]);
    await automate('contact.updated', step('news', 'topic_update', { topic_id: has.topic, subscription: 'opt_in' }));
    await call('PATCH', `/contacts/${has.contact}`, { first_name: 'Ada' });
    await scene.settled();
    expect((await payloads(id)).slice(2)).toEqual([[has.contact, { topic_id: has.topic, subscription: 'opt_in' }]]);
  });
});

describe('the addition of a contact to a segment', () => {
  const ADDED = 'contact.added_to_segment';
  const segment = async (name: string, more: object = {}): Promise<string> =>
    (await call('POST', '/segments', { name, ...more })).id;
  const join = (contact: string, id: string) => call('POST', `/contacts/${contact}/segments/${id}`);
  /** Makes an automation for one segment alone. */
  const automateAt = async (segment_id: string, ...steps: { key: string }[]): Promise<string> => {
    const at = { ...trigger(ADDED), config: { event_name: `rasket:${ADDED}`, segment_id } };
    return (await call('POST', '/automations', { name: 'One', status: 'enabled', ...line(at, ...steps) })).id;
  };

  it('starts a run once when it is added or created, also with a repeated create, and again after a removal', async () => {
    const id = await automate(ADDED);
    const other = await segment('Others');
    await join(has.contact, has.segment);
    await join(has.contact, has.segment);
    const segments = [{ id: has.segment }, { id: other }, { id: other }];
    const { id: bob } = await call('POST', '/contacts', { email: 'bob@example.org', segments });
    await call('POST', '/contacts', { email: 'bob@example.org', segments });
    await call('POST', '/contacts', { email: 'ada@example.org', segments });
    await call('DELETE', `/contacts/${bob}/segments/${other}`);
    await join(bob, other);
    const joined = (contact: string, one: string) => [contact, { segment_id: one }];
    expect(await payloads(id)).toEqual([
      joined(has.contact, has.segment),
      joined(bob, has.segment),
      joined(bob, other),
      joined(has.contact, other),
      joined(bob, other),
    ]);
  });

  it('starts the automations that name the segment and those that name none', async () => {
    const other = await segment('Others');
    const one = await automateAt(has.segment);
    const another = await automateAt(other);
    const any = await automate(ADDED);
    await join(has.contact, has.segment);
    expect([await runs(one), await runs(another), await runs(any)].map(({ length }) => length)).toEqual([1, 0, 1]);
    const { steps } = await call('GET', `/automations/${one}`);
    await call('PATCH', `/automations/${one}`, { ...line({ ...steps[0], config: trigger(ADDED).config }) });
    await call('PATCH', `/automations/${any}`, { ...line({ ...steps[0] }) });
    await join(has.contact, other);
    expect([await runs(one), await runs(another), await runs(any)].map(({ length }) => length)).toEqual([2, 1, 1]);
  });

  it('is not implied by the filter of the segment, and can still be made for it', async () => {
    const filtered = await segment('Adas', { filter: { all: [{ field: 'first_name', op: 'eq', value: 'Ada' }] } });
    const id = await automate(ADDED);
    await call('PATCH', `/contacts/${has.contact}`, { first_name: 'Ada' });
    expect(await runs(id)).toEqual([]);
    await join(has.contact, filtered);
    expect(await payloads(id)).toEqual([[has.contact, { segment_id: filtered }]]);
  });

  it('by a step starts a run one level deeper, and by a step for a member starts none', async () => {
    const other = await segment('Others');
    const id = await automateAt(has.segment, step('on', 'add_to_segment', { segment_id: other }));
    const next = await automateAt(other, step('back', 'add_to_segment', { segment_id: has.segment }));
    await join(has.contact, has.segment);
    await scene.settled();
    const sql = 'select automation_id, depth, status from automation_runs where contact_id = ? order by id';
    expect(await scene.app.world.db.all(sql, [has.contact])).toEqual([
      { automation_id: id, depth: 0, status: 'completed' },
      { automation_id: next, depth: 1, status: 'completed' },
    ]);
  });

  it('provides the segment to the steps of the run', async () => {
    const variables = { PRODUCT: { var: 'event.segment_id' } };
    await automate(ADDED, step('mail', 'send_email', { template: { id: has.template, variables } }));
    await join(has.contact, has.segment);
    await scene.settled();
    expect(scene.sink.messages.map(({ data }) => String(data))).toEqual([expect.stringContaining(has.segment)]);
  });

  it('starts nothing when the creation of the contact fails', async () => {
    const id = await automate(ADDED);
    const segments = [{ id: has.segment }, { id: '00000000-0000-7000-8000-000000000000' }];
    const answer = await scene.api('POST', '/contacts', {
      key: has.team.key,
      body: { email: 'x@y.example', segments },
    });
    expect([answer.status, await runs(id)]).toEqual([422, []]);
  });
});

it('an import starts no run, whatever its rows create, change, choose and join', async () => {
  const ids = await Promise.all(
    ['contact.created', 'contact.updated', 'contact.topic_changed', 'contact.added_to_segment'].map((one) =>
      automate(one),
    ),
  );
  await importedIn(scene, has.team, 'email,first_name\nada@example.org,Ada\nnew@example.org,New\n', {
    on_conflict: 'upsert',
    topics: [{ id: has.topic, subscription: 'opt_in' }],
    segments: [{ id: has.segment }],
  });
  await scene.settled();
  expect((await call('GET', `/contacts/${has.contact}/topics`)).data).toMatchObject([{ subscription: 'opt_in' }]);
  expect(await Promise.all(ids.map(runs))).toEqual([[], [], [], []]);
});

it('an import that requests it starts the runs of each row as the API would, and none twice', async () => {
  const [created, updated, chosen, joined] = await Promise.all(
    ['contact.created', 'contact.updated', 'contact.topic_changed', 'contact.added_to_segment'].map((one) =>
      automate(one),
    ),
  );
  const filter = { all: [{ field: 'first_name', op: 'eq', value: 'New' }] };
  const { id: filtered } = await call('POST', '/segments', { name: 'News', filter });
  const file = 'email,first_name\nada@example.org,Ada\nnew@example.org,New\nnew@example.org,New\nnobody,X\n';
  const fields = {
    on_conflict: 'upsert',
    start_automations: 'true',
    segments: [{ id: has.segment }],
    topics: [{ id: has.topic, subscription: 'opt_in' }],
  };
  await importedIn(scene, has.team, file, fields);
  await scene.settled();
  const { id: fresh } = await call('GET', '/contacts/new@example.org');
  const data = (id: string, email: string, ids: string[]) => [
    id,
    expect.objectContaining({ id, email, segment_ids: ids }),
  ];
  const ada = data(has.contact, 'ada@example.org', [has.segment]);
  const bob = data(fresh, 'new@example.org', [has.segment, filtered]);
  expect(await payloads(created ?? '')).toEqual([bob]);
  expect(await payloads(updated ?? '')).toEqual([ada, bob]);
  const each = async (id = '') => (await payloads(id)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const both = [has.contact, fresh].sort();
  expect(await each(joined)).toEqual(both.map((id) => [id, { segment_id: has.segment }]));
  expect(await each(chosen)).toEqual(both.map((id) => [id, { topic_id: has.topic, subscription: 'opt_in' }]));
  await importedIn(scene, has.team, file, { ...fields, on_conflict: 'skip' });
  await importedIn(scene, has.team, file, { ...fields, start_automations: 'false' });
  await importedIn(scene, has.team, file, fields);
  const lengths = await Promise.all(
    [created, updated, chosen, joined].map(async (id) => (await runs(id ?? '')).length),
  );
  expect(lengths).toEqual([1, 5, 2, 2]);
  const { data: imports } = await call('GET', '/contacts/imports');
  const starts = (imports as { id: string; start_automations: boolean }[]).map((one) => one.start_automations);
  expect(starts).toEqual([true, false, true, true]);
  expect(await call('GET', `/contacts/imports/${imports[1].id}`)).toMatchObject({ start_automations: false });
  const form = await uploadIn(scene, has.team, file, { start_automations: 'yes' });
  expect([form.status, form.body.errors]).toMatchObject([400, [{ path: 'start_automations' }]]);
});

it('a page of an import that starts automations needs the same number of statements for any number of rows', async () => {
  await automate('contact.created');
  await automate('contact.added_to_segment');
  const count = async (rows: number): Promise<number> => {
    const { db, ids } = scene.app.world;
    const none = { first_name: undefined, last_name: undefined, unsubscribed: undefined };
    const read = Array.from({ length: rows }, (_, i) => ({
      row: i + 2,
      read: { email: `r${i}@n${rows}.example`, emailKey: `r${i}@n${rows}.example`, ...none, values: {} },
    }));
    let sent = 0;
    await db.tx((tx) => {
      const counting = new Proxy(tx, {
        get(target, name: keyof Executor) {
          const own = target[name];
          if (typeof own !== 'function') return own;
          return (...given: never[]) => {
            sent++;
            return (own as (...all: never[]) => unknown).apply(target, given);
          };
        },
      });
      return importRows({ ...scene.app.world, ids }, counting, {
        teamId: has.team.id,
        importId: ids.uuid(),
        rows: read,
        declare: async () => [],
        onConflict: 'skip',
        segmentIds: [has.segment],
        topics: [],
        startAutomations: true,
      });
    });
    return sent;
  };
  expect(await count(200)).toBe(await count(2));
});

describe('an email event', () => {
  const HTML = '<p>Hi</p><a href="https://example.com/">x</a>';

  it('of an open or a click starts runs for the contact, and none for a machine', async () => {
    await publishTracking(scene, has.team, domain.id, { open_tracking: true, click_tracking: true });
    const opened = await automate('email.opened');
    const clicked = await automate('email.clicked');
    const { id, links, pixel = '' } = await sendHtml(scene, has.team, domain, { html: HTML, to: 'Ada@Example.org' });
    const robot = { headers: { 'user-agent': 'curl/8.5.0' } };
    for (const how of [robot, {}]) {
      await follow(scene.url, links[0] ?? '', how);
      await follow(scene.url, pixel, how);
    }
    const seen = (await engagements(scene, id)).map(({ type }) => type);
    expect(seen.filter((type) => type === 'email.clicked')).toHaveLength(2);
    await scene.settled();
    expect(await payloads(opened)).toEqual([[has.contact, expect.objectContaining({ email_id: id })]]);
    expect(await payloads(clicked)).toEqual([
      [has.contact, expect.objectContaining({ click: expect.objectContaining({ link: 'https://example.com/' }) })],
    ]);
  });

  it('of an open starts none for an email to several recipients or to an address without a contact', async () => {
    await publishTracking(scene, has.team, domain.id, { open_tracking: true, click_tracking: true });
    const opened = await automate('email.opened');
    for (const to of [['ada@example.org', 'bob@example.org'], ['nobody@example.org']]) {
      const { id, pixel = '' } = await sendHtml(scene, has.team, domain, { html: HTML, to });
      await follow(scene.url, pixel);
      expect(await engagements(scene, id)).not.toEqual([]);
    }
    expect(await runs(opened)).toEqual([]);
  });

  it('of a bounce starts a run for each contact of the team whose address bounced', async () => {
    const bounced = await automate('email.bounced');
    const { id: contact } = await call('POST', '/contacts', { email: 'permfail@one.example' });
    const other = await supply(scene);
    const from = `a@${domain.name}`;
    await scene.api('POST', '/contacts', { key: other.team.key, body: { email: 'permfail@one.example' } });
    const to = ['permfail@one.example', 'ada@example.org'];
    const { id } = await call('POST', '/emails', { from, to, subject: 'x', text: 'x' });
    await scene.settled();
    expect(await payloads(bounced)).toEqual([
      [contact, expect.objectContaining({ email_id: id, to: ['permfail@one.example'] })],
    ]);
  });
});

describe('an automation that starts itself again', () => {
  /** Each run turns the plan around, which starts the next. */
  const flipping = async (): Promise<string> => {
    const steps = [
      trigger('contact.updated'),
      thanks(),
      step('is_a', 'condition', { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'a' }),
      step('b', 'contact_update', { properties: { plan: 'b' } }),
      step('a', 'contact_update', { properties: { plan: 'a' } }),
    ];
    const connections = [
      { from: 'start', to: 'mail' },
      { from: 'mail', to: 'is_a' },
      { from: 'is_a', to: 'b', type: 'condition_met' },
      { from: 'is_a', to: 'a', type: 'condition_not_met' },
    ];
    return (await call('POST', '/automations', { name: 'Loop', status: 'enabled', steps, connections })).id;
  };

  it('stops after the sixth run, with the reason on the run that did not start', async () => {
    const id = await flipping();
    await call('PATCH', `/contacts/${has.contact}`, { first_name: 'Ada' });
    await scene.settled();
    const all = await runs(id);
    expect(all.map(({ status }) => status)).toEqual(['cancelled', ...Array.from({ length: 6 }, () => 'completed')]);
    expect(all[0]?.error).toBe('not begun: 6 runs, one started by what the other did, led to it, and at most 5 may');
    expect(scene.sink.messages).toHaveLength(6);
    expect(await call('GET', `/automations/${id}/runs/${all[0]?.id}`)).toMatchObject({
      error: all[0]?.error,
      started_at: null,
      steps: [{ status: 'skipped' }, {}, {}, {}, {}],
    });
  });

  it('starts nothing when it changes nothing', async () => {
    const id = await automate('contact.updated', step('b', 'contact_update', { properties: { plan: 'b', seats: 3 } }));
    await call('PATCH', `/contacts/${has.contact}`, { properties: { seats: 1 } });
    await scene.settled();
    expect(await runs(id)).toHaveLength(2);
  });

  it('starts a hundred runs an hour for a contact, records further ones, and counts each contact separately', async () => {
    const id = await automate('contact.updated');
    const { id: second } = await call('POST', '/contacts', { email: 'bob@example.org' });
    const change = (contact: string, n: number) => call('PATCH', `/contacts/${contact}`, { first_name: `A${n}` });
    for (let n = 0; n < 102; n++) await change(has.contact, n);
    await change(second, 0);
    await scene.settled();
    const count = async (status: string): Promise<number> => {
      const sql = 'select count(*) as n from automation_runs where automation_id = ? and status = ?';
      return Number((await scene.app.world.db.get<{ n: number }>(sql, [id, status]))?.n);
    };
    expect([await count('completed'), await count('cancelled')]).toEqual([101, 2]);
    expect((await runs(id))[1]).toMatchObject({ error: expect.stringContaining('100 runs') });
    scene.clock.advance(HOUR);
    await change(has.contact, 200);
    await scene.settled();
    expect([await count('completed'), await count('cancelled')]).toEqual([102, 2]);
  });
});
