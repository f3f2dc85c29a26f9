import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildForm } from '../../rig/forms.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });

const PEOPLE = [
  { email: 'ada@example.org', first_name: 'Ada', last_name: 'Lovelace', properties: { plan: 'Pro', seats: 3.5 } },
  { email: 'left@example.org', unsubscribed: true, properties: { plan: '=HYPERLINK("http://x")', seats: -2 } },
  { email: "o'neil@example.org", first_name: '@SUM(1)', last_name: "'=quoted", properties: { plan: '-1', seats: 0 } },
  { email: '=cmd@example.org', first_name: 'a,"b"\nc', last_name: '+49 30', properties: { plan: 'Ünïcode ✓' } },
  { email: 'bare@example.org' },
  { email: 'lines@example.org', first_name: '\n=1+1', last_name: "'\n+1", properties: { plan: '\n-x' } },
  { email: 'returns@example.org', first_name: '\r=1', last_name: 'a\r\nb"\r"', properties: { plan: 'x\r' } },
  { email: 'nothing@example.org', first_name: '', last_name: "'", properties: { plan: '' } },
  { email: 'space@example.org', first_name: ' Ada ', last_name: "''", properties: { plan: ' \t ', seats: 1e-9 } },
  { email: '"x;=1"@example.org', first_name: 'a;=1+1', last_name: ';\t"=2', properties: { plan: "a\tb\t-cmd;'=x" } },
  { email: 'quote@example.org', first_name: '";=1', last_name: 'x"\r\n@SUM', properties: { plan: 'n;-5;+5;\n- item' } },
  { email: 'spaces@example.org', first_name: 'a; =1', last_name: '"=1', properties: { plan: "a;'-5;''=1;\uFF1D1" } },
  { email: '"a b,c"@example.org', first_name: '😀'.repeat(200), last_name: '\uFEFFx', properties: { plan: "''=1" } },
];

interface Audience extends Team {
  segment: string;
  topics: string[];
}

async function audience(): Promise<Audience> {
  const team = await scene.team();
  const segment = (await call(team, 'POST', '/segments', { name: 'Picked' })).body.id;
  const topics: string[] = [];
  for (const [name, default_subscription] of [
    ['News', 'opt_in'],
    ['Offers', 'opt_out'],
    ['Asks first', 'opt_out'],
  ]) {
    topics.push((await call(team, 'POST', '/topics', { name, default_subscription })).body.id);
  }
  await call(team, 'POST', '/contact-properties', { key: 'plan', type: 'string' });
  await call(team, 'POST', '/contact-properties', { key: 'seats', type: 'number' });
  for (const person of PEOPLE) expect((await call(team, 'POST', '/contacts', person)).status).toBe(201);
  const choose = (email: string, chosen: [at: number, subscription: string][]) =>
    call(team, 'PATCH', `/contacts/${email}/topics`, {
      topics: chosen.map(([at, subscription]) => ({ id: topics[at], subscription })),
    });
  await call(team, 'POST', `/contacts/ada@example.org/segments/${segment}`);
  await choose('ada@example.org', [
    [0, 'opt_out'],
    [1, 'opt_in'],
    [2, 'opt_in'],
  ]);
  await choose('bare@example.org', [[0, 'opt_in']]);
  return { ...team, segment, topics };
}

const everybody = async (team: Team) => {
  const { body } = await call(team, 'GET', '/contacts?limit=100');
  const all = await Promise.all(
    body.data.map(async ({ id }: { id: string }) => {
      const { email, first_name, last_name, unsubscribed, properties } = (await call(team, 'GET', `/contacts/${id}`))
        .body;
      const segments = (await call(team, 'GET', `/contacts/${id}/segments`)).body.data.map(
        (one: { name: string }) => one.name,
      );
      const topics = (await call(team, 'GET', `/contacts/${id}/topics`)).body.data;
      return { email, first_name, last_name, unsubscribed, properties, segments, topics };
    }),
  );
  return all.sort((a, b) => (a.email < b.email ? -1 : 1));
};

it('an audience that is exported, erased and imported is the same as before', async () => {
  const team = await audience();
  const before = await everybody(team);
  const exported = await call(team, 'GET', '/contacts/export');
  expect(exported.headers.get('content-type')).toContain('text/csv');
  expect(exported.text.split('\r\n')[0]).toBe(
    'email,first_name,last_name,unsubscribed,segment_ids,opted_in_topic_ids,opted_out_topic_ids,plan,seats',
  );
  for (const { email } of before) await call(team, 'DELETE', `/contacts/${encodeURIComponent(email)}`);
  expect(await everybody(team)).toEqual([]);
  // The topic now requires a confirmation, but not again from contacts that the team imports.
  await makeAsking(team, team.topics[2] ?? '');
  const { body } = await scene.api('POST', '/contacts/imports', { key: team.key, ...buildForm(exported.text) });
  await scene.settled();
  expect((await call(team, 'GET', `/contacts/imports/${body.id}`)).body.counts).toMatchObject({
    created: PEOPLE.length,
    failed: 0,
  });
  expect(await everybody(team)).toEqual(before);
  const ada = before.find(({ email }) => email === 'ada@example.org');
  expect(ada).toMatchObject({ segments: ['Picked'] });
  expect(scene.sink.messages).toEqual([]);
});

async function makeAsking(team: Team, topicId: string): Promise<void> {
  const from = `a@${(await team.domain()).name}`;
  const variables = [{ key: 'CONFIRMATION_URL', type: 'string' }];
  const body = { name: 'Ask', html: '{{{CONFIRMATION_URL}}}', from, subject: 'Well?', variables };
  const { id } = (await call(team, 'POST', '/templates', body)).body;
  await call(team, 'POST', `/templates/${id}/publish`);
  const change = { confirmation: 'required', confirmation_template_id: id };
  expect((await call(team, 'PATCH', `/topics/${topicId}`, change)).status).toBe(200);
}

it('an imported list skips deleted ids, fails rows with invalid ids, and lets the later row win', async () => {
  const team = await audience();
  const [news = '', offers = '', third = ''] = team.topics;
  await call(team, 'DELETE', `/topics/${third}`);
  const rows = [
    'email,segment_ids,opted_in_topic_ids,opted_out_topic_ids',
    `new@example.org,${team.segment},${offers} ${third},`,
    `NEW@example.org,,${news},${offers}`,
    'bad@example.org,VIPs,,',
  ];
  const { body } = await scene.api('POST', '/contacts/imports', {
    key: team.key,
    ...buildForm(rows.join('\n'), { on_conflict: 'upsert', topics: [{ id: offers, subscription: 'opt_in' }] }),
  });
  await scene.settled();
  const { counts } = (await call(team, 'GET', `/contacts/imports/${body.id}`)).body;
  expect(counts).toMatchObject({ created: 1, updated: 1, failed: 1 });
  const failures = (await call(team, 'GET', `/contacts/imports/${body.id}/failures`)).body.data;
  expect(failures).toMatchObject([{ row: 4, reason: 'segment_ids must be ids separated by spaces', value: 'VIPs' }]);
  const made = (await everybody(team)).find(({ email }) => email === 'new@example.org');
  const shown = made?.topics.map((one: { name: string; subscription: string }) => `${one.name} ${one.subscription}`);
  expect([made?.segments, shown]).toEqual([['Picked'], ['Offers opt_out', 'News opt_in']]);
});

it('no cell of the CSV export begins like a formula', async () => {
  const team = await audience();
  const { text } = await call(team, 'GET', '/contacts/export?format=csv');
  for (const formula of ['=HYPERLINK', '@SUM', '=cmd', '+49']) {
    expect(text).toContain(`'${formula}`);
    expect(text).not.toMatch(new RegExp(`(?:^|,|")\\${formula}`, 'm'));
  }
  expect(text).toContain(',-2\r\n');
});

/** Returns the cells of a file as read by a program that takes any of `separators` for one: a quote opens a cell only at its start. */
function readCells(text: string, separators: string): string[] {
  const cells: string[] = [];
  for (let at = 0; at <= text.length; at++) {
    let cell = '';
    if (text[at] === '"') {
      for (at++; at < text.length && !(text[at] === '"' && text[at + 1] !== '"'); at++) {
        if (text[at] === '"') at++;
        cell += text[at];
      }
      at++;
    }
    while (at < text.length && !`${separators}\r\n`.includes(text[at] ?? '')) cell += text[at++];
    cells.push(cell);
  }
  return cells;
}

it.each([',', ';', '\t', ',;', ',;\t'])(
  'no cell of the CSV export is a formula for a program that splits by %j',
  async (separators) => {
    const team = await audience();
    const { text } = await call(team, 'GET', '/contacts/export?format=csv');
    const cells = readCells(text, separators);
    expect(cells.length).toBeGreaterThan(PEOPLE.length);
    expect(cells.filter((cell) => /^["\s]*[=+\-@\uFF1D]/.test(cell) && Number.isNaN(Number(cell)))).toEqual([]);
  },
);

it('the NDJSON export has one object per line, filtered by segment', async () => {
  const team = await audience();
  const filter = { field: 'properties.plan', op: 'exists', value: false };
  const segment = (await call(team, 'POST', '/segments', { name: 'Bare', filter })).body.id;
  const all = await call(team, 'GET', '/contacts/export?format=ndjson');
  expect(all.headers.get('content-type')).toContain('application/x-ndjson');
  const lines = all.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { email: string });
  expect(lines).toHaveLength(PEOPLE.length);
  expect(lines.at(-1)).toMatchObject({ email: 'ada@example.org', properties: { plan: 'Pro', seats: 3.5 } });
  const some = await call(team, 'GET', `/contacts/export?format=ndjson&segment_id=${segment}`);
  expect(some.text).toContain('bare@example.org');
  expect(some.text.trimEnd().split('\n')).toHaveLength(1);
  const foreign = await call(await scene.team(), 'GET', `/contacts/export?segment_id=${segment}`);
  expect(foreign).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
});
