import { afterAll, beforeAll, expect, it } from 'vitest';
import { formOf } from '../../rig/forms.ts';
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
];

async function audience(): Promise<Team> {
  const team = await scene.team();
  await call(team, 'POST', '/contact-properties', { key: 'plan', type: 'string' });
  await call(team, 'POST', '/contact-properties', { key: 'seats', type: 'number' });
  for (const person of PEOPLE) expect((await call(team, 'POST', '/contacts', person)).status).toBe(201);
  return team;
}

const everybody = async (team: Team) => {
  const { body } = await call(team, 'GET', '/contacts?limit=100');
  const all = await Promise.all(body.data.map((one: { id: string }) => call(team, 'GET', `/contacts/${one.id}`)));
  return all
    .map(({ body: { email, first_name, last_name, unsubscribed, properties } }) => {
      return { email, first_name, last_name, unsubscribed, properties };
    })
    .sort((a, b) => (a.email < b.email ? -1 : 1));
};

it('exported, erased and imported, the audience is the same', async () => {
  const team = await audience();
  const before = await everybody(team);
  const exported = await call(team, 'GET', '/contacts/export');
  expect(exported.headers.get('content-type')).toContain('text/csv');
  expect(exported.text.split('\r\n')[0]).toBe('email,first_name,last_name,unsubscribed,plan,seats');
  for (const { email } of before) await call(team, 'DELETE', `/contacts/${encodeURIComponent(email)}`);
  expect(await everybody(team)).toEqual([]);
  const { body } = await scene.api('POST', '/contacts/imports', { key: team.key, ...formOf(exported.text) });
  await scene.settled();
  expect((await call(team, 'GET', `/contacts/imports/${body.id}`)).body.counts).toMatchObject({
    created: 5,
    failed: 0,
  });
  expect(await everybody(team)).toEqual(before);
});

it('no cell of the CSV begins as a formula does', async () => {
  const team = await audience();
  const { text } = await call(team, 'GET', '/contacts/export?format=csv');
  for (const formula of ['=HYPERLINK', '@SUM', '=cmd', '+49']) {
    expect(text).toContain(`'${formula}`);
    expect(text).not.toMatch(new RegExp(`(?:^|,|")\\${formula}`, 'm'));
  }
  expect(text).toContain(',-2\r\n');
});

it('NDJSON, one object a line, filtered by segment', async () => {
  const team = await audience();
  const filter = { field: 'properties.plan', op: 'exists', value: false };
  const segment = (await call(team, 'POST', '/segments', { name: 'Bare', filter })).body.id;
  const all = await call(team, 'GET', '/contacts/export?format=ndjson');
  expect(all.headers.get('content-type')).toContain('application/x-ndjson');
  const lines = all.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { email: string });
  expect(lines).toHaveLength(5);
  expect(lines[4]).toMatchObject({ email: 'ada@example.org', properties: { plan: 'Pro', seats: 3.5 } });
  const some = await call(team, 'GET', `/contacts/export?format=ndjson&segment_id=${segment}`);
  expect(some.text).toContain('bare@example.org');
  expect(some.text.trimEnd().split('\n')).toHaveLength(1);
  const foreign = await call(await scene.team(), 'GET', `/contacts/export?segment_id=${segment}`);
  expect(foreign).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
});
