import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../../rig/scene.ts';
import { line, start, step, supply, wait, type Graph, type Supplies } from './graph.ts';

const DAY = 86_400_000;
let scene: Scene;
let has: Supplies;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  has = await supply(scene);
});
afterAll(() => scene.close());

const create = (graph: Graph) =>
  scene.api('POST', '/automations', { key: has.team.key, body: { name: 'A', ...graph } });
/** Returns the errors of a refusal by the place they name. */
async function createAndReadFaults(graph: Graph): Promise<Record<string, string>> {
  const { status, body, text } = await create(graph);
  expect([status, body.name], text).toEqual([422, 'validation_error']);
  const errors = body.errors as { path: string; message: string }[];
  expect(new Set(errors.map(({ path }) => path)).size).toBe(errors.length);
  return Object.fromEntries(errors.map(({ path, message }) => [path, message.replace(`${path} `, '')]));
}
const iso = (ms: number) => new Date(scene.clock.now() + ms).toISOString();
const mail = (config: object = {}) => ({ template: { id: has.template, variables: { PRODUCT: 'Tea' } }, ...config });
const rule = (field: string, operator: string, value?: unknown) => ({
  type: 'rule',
  field,
  operator,
  ...(value === undefined ? {} : { value }),
});

describe('an automation graph', () => {
  it('accepts every type of step and returns it as written, with the types of its connections', async () => {
    const tree = {
      type: 'and',
      rules: [rule('properties.seats', 'gte', 3), { type: 'or', rules: [rule('email', 'exists')] }],
    };
    const steps = [
      start,
      step('is-big', 'condition', tree),
      step('thanks', 'send_email', mail({ subject: 'S', topic_id: has.topic })),
      step('until', 'delay', { until: iso(30 * DAY) }),
      step('note', 'contact_update', {
        first_name: null,
        unsubscribed: false,
        properties: { plan: 'pro', seats: null },
      }),
      step('add', 'add_to_segment', { segment_id: has.segment }),
      step('news', 'topic_update', { topic_id: has.topic, subscription: 'opt_in' }),
    ];
    const connections = [
      { from: 'start', to: 'is-big' },
      { from: 'is-big', to: 'thanks', type: 'condition_met' },
      { from: 'is-big', to: 'news', type: 'condition_not_met' },
      ...[
        ['thanks', 'until'],
        ['until', 'note'],
        ['note', 'add'],
      ].map(([from, to]) => ({ from, to, type: 'default' })),
      { from: 'add', to: 'news' },
    ];
    const { status, body, text } = await create({ steps, connections });
    expect(status, text).toBe(201);
    const shown = (await scene.api('GET', `/automations/${body.id}`, { key: has.team.key })).body;
    expect(shown.steps).toEqual(steps);
    expect(shown.connections).toEqual(connections.map((one) => ({ type: 'default', ...one })));
  });

  it('has at most 150 steps', async () => {
    const steps = Array.from({ length: 149 }, (_, i) => wait(`w${i}`));
    expect((await create(line(start, ...steps))).status).toBe(201);
    expect(await createAndReadFaults(line(start, ...steps, wait('more')))).toEqual({
      steps: 'may have at most 150 steps; got 151.',
    });
  });

  it('has exactly one trigger, which no connection leads to', async () => {
    expect(await createAndReadFaults({ steps: [], connections: [] })).toEqual({
      steps: expect.stringMatching(/there is none/),
    });
    expect(await createAndReadFaults(line(wait('a')))).toEqual({ steps: expect.stringMatching(/exactly one trigger/) });
    const second = { ...start, key: 'second' };
    expect(await createAndReadFaults({ steps: [start, second], connections: [] })).toEqual({
      'steps.second': 'is a second trigger; exactly one is allowed.',
    });
    const back = {
      ...line(start, wait('a')),
      connections: [
        { from: 'start', to: 'a' },
        { from: 'a', to: 'start' },
      ],
    };
    expect(await createAndReadFaults(back)).toEqual({
      'steps.start': 'is a trigger; no connection may lead to it; is part of a cycle.',
      'steps.a': 'is part of a cycle.',
    });
  });

  it('leads to every step and has no cycles', async () => {
    const { steps, connections } = line(start, wait('a'), wait('b'), wait('c'), wait('d'));
    expect(await createAndReadFaults({ steps: [...steps, wait('lost')], connections })).toEqual({
      'steps.lost': 'cannot be reached from the trigger.',
    });
    const cycle = [start, step('a', 'condition', rule('email', 'exists')), wait('b'), wait('after')];
    const ways = [
      { from: 'start', to: 'a' },
      { from: 'a', to: 'b', type: 'condition_met' },
      { from: 'b', to: 'a' },
      { from: 'a', to: 'after', type: 'condition_not_met' },
    ];
    expect(await createAndReadFaults({ steps: cycle, connections: ways })).toEqual({
      'steps.a': 'is part of a cycle.',
      'steps.b': 'is part of a cycle.',
    });
    // A step between two cycles is not on one.
    const between = [start, step('a', 'condition', rule('email', 'exists')), wait('b'), wait('self')];
    const through = [
      { from: 'start', to: 'a' },
      { from: 'a', to: 'a', type: 'condition_met' },
      { from: 'a', to: 'b', type: 'condition_not_met' },
      { from: 'b', to: 'self' },
      { from: 'self', to: 'self' },
    ];
    expect(await createAndReadFaults({ steps: between, connections: through })).toEqual({
      'steps.a': 'is part of a cycle.',
      'steps.self': 'is part of a cycle.',
    });
    expect(
      await createAndReadFaults({ steps: [start, wait('self')], connections: [{ from: 'self', to: 'self' }] }),
    ).toEqual({
      'steps.self': 'cannot be reached from the trigger; is part of a cycle.',
    });
    // Two ways that meet again are not a cycle.
    const meet = { steps: cycle, connections: [...ways.slice(0, 2), { from: 'b', to: 'after' }, ways[3]] };
    expect((await create(meet)).status).toBe(201);
  });

  it('connects only its own steps, with connection types that the steps allow', async () => {
    const { steps, connections } = line(start, wait('a'));
    const faults = (...more: unknown[]) => createAndReadFaults({ steps, connections: [...connections, ...more] });
    expect(await faults({ from: 'a', to: 'nowhere' })).toEqual({
      'steps.a': 'connections.1 leads to "nowhere", which is not a step.',
    });
    expect(await faults({ from: 'nowhere', to: 'a' })).toEqual({
      'steps.a': 'connections.1 comes from "nowhere", which is not a step.',
    });
    expect(await faults({ from: 'x', to: 'y' })).toEqual({ 'connections.1': 'comes from "x", which is not a step.' });
    for (const broken of [null, 'a', [], { from: 'a' }, { from: 1, to: 'a' }]) {
      expect(Object.keys(await faults(broken))).toEqual(['connections.1']);
    }
    for (const type of ['timeout', 'event_received']) {
      expect(await faults({ from: 'start', to: 'a', type })).toEqual({
        'steps.start': `connections.1 is of type ${type}, which this release does not support.`,
      });
    }
    expect(await faults({ from: 'start', to: 'a', type: 'sometimes' })).toMatchObject({
      'steps.start': expect.stringMatching(/must have a type: default, condition_met, condition_not_met/),
    });
    expect(await faults({ from: 'start', to: 'a' })).toEqual({
      'steps.start': 'may have one connection of each type; it has more of default.',
    });
    const branch = (type: string) => ({ from: 'start', to: 'a', type });
    expect(await createAndReadFaults({ steps, connections: [branch('condition_met')] })).toEqual({
      'steps.start': 'may only have connections of type default; got condition_met.',
    });
    const condition = step('a', 'condition', rule('email', 'exists'));
    expect(await createAndReadFaults(line(start, condition, wait('b')))).toEqual({
      'steps.a': 'may only have connections of type condition_met and condition_not_met; got default.',
    });
  });

  it.each([
    [[null], 'steps.0', 'must be an object with key, type and config'],
    [[start, null], 'steps.1', 'must be an object'],
    [[start, 'x'], 'steps.1', 'must be an object'],
    [[start, []], 'steps.1', 'must be an object'],
    [[start, { type: 'delay', config: {} }], 'steps.1', 'must have a key of 1 to 100 characters'],
    [[start, wait(' ')], 'steps.1', 'must have a key'],
    [[start, wait('x'.repeat(101))], 'steps.1', 'must have a key'],
    [[start, { key: 'a', type: 'sleep', config: {} }], 'steps.a', 'must have a type: trigger, send_email'],
    [[start, { key: 'a', type: 'wait_for_event', config: {} }], 'steps.a', 'this release does not support'],
    [[start, { key: 'a', type: 'contact_delete', config: {} }], 'steps.a', 'this release does not support'],
    [[start, { key: 'a', type: 'delay' }], 'steps.a', 'must have a config'],
    [[start, { ...wait('a'), label: 'x' }], 'steps.a', 'has unknown fields: label'],
    [[start, wait('a'), wait('a')], 'steps.a', 'has the same key as another step'],
  ])('with the steps %j is refused with an error for %s', async (steps, path, says) => {
    const connections = [{ from: 'start', to: 'a' }];
    expect((await createAndReadFaults({ steps, connections }))[path]).toContain(says);
  });

  it('reports all invalid steps at once, with all their errors', async () => {
    const steps = [
      start,
      wait('a', 'soon'),
      step('b', 'send_email', {}),
      step('c', 'add_to_segment', { segment_id: 'x', y: 1 }),
    ];
    const { connections } = line(start, wait('a'), wait('b'));
    expect(await createAndReadFaults({ steps, connections })).toEqual({
      'steps.a': expect.stringMatching(/must have a duration/),
      'steps.b': 'must have a template with the id of a template.',
      'steps.c': expect.stringMatching(
        /cannot be reached.*unknown fields in config: y.*refers to the segment x, which does not exist/,
      ),
    });
  });
});

it('a graph cannot contain text that a database would alter: NUL or half a surrogate pair', async () => {
  for (const bad of ['a\u0000', '\ud800', 'a\udfff']) {
    const hostile = [
      line(start, wait(bad)),
      line(start, step('a', 'contact_update', { first_name: bad })),
      line(start, step('a', 'delay', { duration: '1 day', [bad]: 1 })),
      { steps: [start], connections: [{ from: 'start', to: bad }] },
    ];
    for (const graph of hostile) {
      expect(await create(graph)).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    }
  }
});

describe('a step of an automation', () => {
  const fault = async (type: string, config: object) =>
    (await createAndReadFaults(line(start, step('a', type, config))))['steps.a'];
  const isTaken = async (type: string, config: object) => {
    const { status, text } = await create(line(start, step('a', type, config)));
    expect(status, text).toBe(201);
  };

  it('that is a trigger must name an existing event', async () => {
    const named = (event_name: unknown) => ({ steps: [{ ...start, config: { event_name } }], connections: [] });
    for (const name of ['nothing', 'rasket:contact.deleted', 'rasket:email.sent', 7, '', undefined]) {
      expect(Object.keys(await createAndReadFaults(named(name)))).toEqual(['steps.start']);
    }
    expect((await createAndReadFaults(named('rasket:x')))['steps.start']).toContain(
      'platform events are rasket:contact.created, rasket:contact.updated, rasket:contact.topic_changed, ' +
        'rasket:contact.added_to_segment, rasket:email.opened, rasket:email.clicked, rasket:email.bounced',
    );
    expect((await create(named('rasket:contact.updated'))).status).toBe(201);
  });

  it('that is a trigger names a segment only if it starts when contacts are added to one', async () => {
    const at = (event_name: string, segment_id: unknown) => ({
      steps: [{ ...start, config: { event_name, segment_id } }],
      connections: [],
    });
    const added = 'rasket:contact.added_to_segment';
    const told = async (graph: Parameters<typeof createAndReadFaults>[0]) =>
      (await createAndReadFaults(graph))['steps.start'];
    expect(await told(at('rasket:contact.created', has.segment))).toContain(`with the event_name ${added}`);
    expect(await told(at('order', has.segment))).toContain(`with the event_name ${added}`);
    expect(await told(at(added, 7))).toContain('must have segment_id as the id of a segment');
    expect(await told(at(added, null))).toContain('must have segment_id as the id of a segment');
    expect(await told(at(added, has.topic))).toContain('which does not exist');
    expect((await create(at(added, has.segment.toUpperCase()))).status).toBe(201);
  });

  it('that is a delay takes a phrase or a time of at most 30 days', async () => {
    for (const duration of ['1 minute', '90 minutes', '3 days', '30 days', '4 weeks', '720 hours', '1 day', '1d']) {
      await isTaken('delay', { duration });
    }
    for (const duration of [
      '0 days',
      'soon',
      '-1 days',
      'tomorrow',
      '3',
      3,
      null,
      '3 days ago',
      'P3D',
      '2592001 seconds',
    ]) {
      expect(await fault('delay', { duration })).toContain("must have a duration such as '3 days'");
    }
    for (const duration of ['31 days', '721 hours', '5 weeks', '43201 minutes', '999999 weeks']) {
      expect(await fault('delay', { duration })).toContain('may wait for at most 30 days');
    }
    await isTaken('delay', { until: iso(1000) });
    await isTaken('delay', { until: iso(30 * DAY) });
    expect(await fault('delay', { until: iso(30 * DAY + 1000) })).toContain('may wait for at most 30 days');
    expect(await fault('delay', { until: iso(-1000) })).toContain('has an until that is in the past');
    expect(await fault('delay', { until: iso(0) })).toContain('has an until that is in the past');
    expect(await fault('delay', { until: 'in 3 days' })).toContain('must have until as an ISO 8601 time');
    for (const config of [{}, { duration: '1 day', until: iso(DAY) }]) {
      expect(await fault('delay', config)).toContain('must have either duration or until');
    }
  });

  it('that sends an email names a published template, by id or alias, with all that a send needs', async () => {
    await isTaken('send_email', mail());
    await isTaken('send_email', mail({ template: { id: 'thanks', variables: { PRODUCT: { var: 'event.product' } } } }));
    await isTaken(
      'send_email',
      mail({ from: `Shop <shop@${has.domain}>`, reply_to: ['a@example.com'], topic_id: null }),
    );
    expect(await fault('send_email', { template: { id: 'nothing' } })).toContain(
      'refers to the template nothing, which does not exist',
    );
    expect(await fault('send_email', { template: { id: has.draft } })).toContain('which is not published');
    await scene.api('POST', `/templates/${has.draft}/publish`, { key: has.team.key });
    const lacks = await fault('send_email', { template: { id: has.draft } });
    expect(lacks).toContain('must have from, because its template has none');
    expect(lacks).toContain('must have subject, because its template has none');
    await isTaken('send_email', { template: { id: has.draft }, from: `a@${has.domain}`, subject: 'Hello' });
    expect(await fault('send_email', mail({ topic_id: has.segment }))).toContain('refers to the topic');
    expect(await fault('send_email', mail({ from: 'nobody' }))).toContain('from: ');
    expect(await fault('send_email', mail({ subject: 'a\r\nBcc: b@example.com' }))).toContain(
      'subject must be one line',
    );
    expect(await fault('send_email', mail({ reply_to: 7 }))).toContain('must have reply_to');
  });

  it('that sends an email must supply the variables of its template: literals, event fields or contact fields', async () => {
    const values = (variables: unknown) => mail({ template: { id: has.template, variables } });
    for (const field of ['email', 'first_name', 'last_name', 'plan', 'properties.seats']) {
      await isTaken('send_email', values({ PRODUCT: { var: `contact.${field}` }, TOTAL: { var: 'event.total' } }));
    }
    const wrong: [unknown, string][] = [
      [{}, 'PRODUCT is missing'],
      [{ PRODUCT: 'x', TOTAL: 'many' }, 'template.variables.TOTAL'],
      [{ PRODUCT: 'x', COLOUR: 'red' }, 'is not a variable of this template'],
      [{ PRODUCT: { var: 'contact.nothing' } }, 'nor a declared property'],
      [{ PRODUCT: { var: 'wait_events.x' } }, 'must have a var of the form event.<key> or contact.<field>'],
      [{ PRODUCT: { var: 'event.' } }, 'must have a var of the form event.<key>'],
      [{ PRODUCT: { var: `event.${'x'.repeat(195)}` } }, 'may have a var of at most 200 characters'],
      [JSON.parse('{"PRODUCT": "x", "__proto__": "y"}'), 'is not a variable of this template'],
      [{ PRODUCT: ['x'] }, 'must be a string'],
      [{ PRODUCT: true }, 'must be a string'],
      [{ PRODUCT: null }, 'must be a string'],
      [{ PRODUCT: 'x'.repeat(2001) }, 'must be a string of at most 2000'],
      ['x', 'must have template.variables as an object'],
    ];
    for (const [variables, says] of wrong) expect(await fault('send_email', values(variables))).toContain(says);
  });

  it('that is a condition is a tree of rules over fields that contacts have', async () => {
    const good = [
      rule('email', 'ends_with', '@example.org'),
      rule('first_name', 'eq', null),
      rule('unsubscribed', 'neq', true),
      rule('properties.plan', 'is_empty'),
      rule('properties.seats', 'lt', 3),
      rule('last_name', 'starts_with', 'L'),
    ];
    for (const one of good) await isTaken('condition', one);
    await isTaken('condition', { type: 'or', rules: good });
    const wrong: [object, string][] = [
      [{}, 'must have nodes of the type rule, filter, and, or or'],
      [{ type: 'not', rules: good }, 'must have nodes of the type'],
      [{ type: 'and', rules: [] }, 'must have at least one rule in and'],
      [{ type: 'and', rules: [null] }, 'must contain rules, each an object'],
      [{ type: 'and' }, 'must have at least one rule in and'],
      [rule('age', 'eq', 3), 'has the field age; known are email'],
      [rule('toString', 'eq', 'x'), 'has the field toString'],
      [rule('properties.nothing', 'exists'), 'refers to properties.nothing, which is not declared'],
      [rule('email', 'in', ['x']), 'must have an operator: eq, neq'],
      [rule('email', 'gt', 3), 'email gt is for a number; the field is a string'],
      [rule('properties.seats', 'contains', '3'), 'is for a string; the field is a number'],
      [rule('properties.seats', 'gt', '3'), 'needs a value that is a number'],
      [rule('unsubscribed', 'eq', 'true'), 'needs a value that is a boolean'],
      [rule('email', 'exists', true), 'takes no value'],
      [rule('email', 'eq'), 'needs a value that is a string'],
      [{ ...rule('email', 'exists'), label: 'x' }, 'unknown fields'],
      [{ type: 'or', rules: Array.from({ length: 51 }, () => rule('email', 'exists')) }, 'at most 50 rules; got 51'],
    ];
    for (const [config, says] of wrong) expect(await fault('condition', config)).toContain(says);
    const nested = (depth: number): object =>
      depth === 0 ? rule('email', 'exists') : { type: 'and', rules: [nested(depth - 1)] };
    await isTaken('condition', nested(4));
    expect(await fault('condition', nested(5))).toContain('may nest its rules at most 5 deep');
  });

  it('that updates a contact sets literal values of declared fields', async () => {
    await isTaken('contact_update', { first_name: 'A', last_name: null, unsubscribed: true, properties: { seats: 4 } });
    const wrong: [object, string][] = [
      [{}, 'must change at least one field'],
      [{ first_name: { var: 'event.name' } }, 'must set literal values'],
      [{ properties: { plan: { var: 'event.plan' } } }, 'must set literal values'],
      [{ first_name: 'x'.repeat(201) }, 'must have first_name as a string of at most 200'],
      [{ unsubscribed: 'yes' }, 'must have unsubscribed as true or false'],
      [{ properties: { nothing: 1 } }, 'refers to the property nothing, which is not declared'],
      [{ properties: { seats: 'four' } }, 'properties.seats must be a number'],
      [{ properties: [] }, 'must have properties as an object'],
      [{ email: 'b@example.org' }, 'unknown fields in config: email'],
    ];
    for (const [config, says] of wrong) expect(await fault('contact_update', config)).toContain(says);
  });

  it('must name segments and topics of the same team that are not deleted', async () => {
    const other = await supply(scene);
    expect(await fault('add_to_segment', {})).toContain('must have segment_id');
    for (const segment_id of ['x', has.topic, other.segment]) {
      expect(await fault('add_to_segment', { segment_id })).toContain('which does not exist');
    }
    expect(await fault('topic_update', { topic_id: other.topic, subscription: 'opt_in' })).toContain('does not exist');
    expect(await fault('topic_update', { topic_id: has.topic, subscription: 'yes' })).toContain('opt_in or opt_out');
    expect(await fault('topic_update', { subscription: 'opt_in' })).toContain('must have topic_id');
    await isTaken('add_to_segment', { segment_id: has.segment.toUpperCase() });
  });
});
