import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTeam, listTeams } from '../../../src/tenancy/teams/index.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const create = (name: string) => createTeam(scene.app.world, { name });
const refusal = { errorName: 'validation_error', status: 422 };

it('a new team has the default plan and a full-access key that works at once', async () => {
  const made = await create('  Fresh Team  ');
  expect(made).toEqual({ teamId: expect.any(String), slug: 'fresh-team', apiKey: expect.stringMatching(/^rk_/) });
  const row = (await listTeams(scene.app.world.db)).find((team) => team.id === made.teamId);
  expect(row).toEqual({
    id: made.teamId,
    name: 'Fresh Team',
    slug: 'fresh-team',
    risk_state: 'normal',
    risk_reason: null,
    plan_code: 'standard',
    created_at: scene.clock.now(),
    sender_name: null,
    postal_address: null,
    ai_assist_enabled: 0,
    default_language: 'en',
    language_property: null,
    logo_url: null,
    accent_color: null,
    page_headline: null,
    page_intro: null,
    page_goodbye: null,
    marketing_cap: null,
    archive_enabled: 0,
    archive_indexed: 0,
    archive_token: null,
    admin_emails: null,
  });
  const { body } = await scene.api('GET', '/api-keys', { key: made.apiKey });
  expect(body.data).toMatchObject([{ name: 'First key', permission: 'full_access' }]);
});

it.each([
  ['Élan vital', 'elan-vital', 'accents fall away'],
  ['  Büro & Söhne  ', 'buro-sohne', 'what is no letter parts words'],
  ['日本郵便', '日本郵便', 'letters of every script stay'],
  ['Почта', 'почта', 'in lower case'],
  ['🚀', 'team', 'a name without letters is a team'],
])('the slug of %j is %s: %s', async (name, slug) => {
  expect((await create(name)).slug).toBe(slug);
});

it('a team name may have 200 characters, and characters beyond the basic plane are not cut in half', async () => {
  const made = await create('𠀀'.repeat(100));
  expect(made.slug.isWellFormed()).toBe(true);
});

it.each([
  ['', 'nothing'],
  ['   ', 'only spaces'],
  ['x'.repeat(201), 'too long'],
])('the team name %j is refused: %s', async (name) => {
  await expect(create(name)).rejects.toMatchObject(refusal);
});

it('a team name that is taken is refused, and no part of the team is stored', async () => {
  await create('Taken');
  const before = await scene.app.world.db.get('select count(*) as n from api_keys');
  await expect(create('TAKEN!')).rejects.toMatchObject({ ...refusal, message: expect.stringContaining('taken') });
  expect(await scene.app.world.db.get('select count(*) as n from api_keys')).toEqual(before);
});

describe('two teams', () => {
  it('see nothing of each other in any list', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const domain = await team.domain();
    await scene.api('POST', '/suppressions', { key: team.key, body: { email: 'x@example.org' } });
    const body = { from: `a@${domain.name}`, to: 'y@example.org', subject: 'Hello', text: 'Hello' };
    await scene.api('POST', '/emails', { key: team.key, body });
    await scene.settled();
    for (const path of ['/domains', '/suppressions', '/emails']) {
      expect((await scene.api('GET', path, { key: team.key })).body.data).toHaveLength(1);
      expect((await scene.api('GET', path, { key: stranger.key })).body.data).toEqual([]);
    }
    const keys = (await scene.api('GET', '/api-keys?status=all', { key: stranger.key })).body.data;
    expect(keys).toHaveLength(1);
  });

  it('cannot page from an item of the other into its list', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    for (const email of ['a@example.org', 'b@example.org']) {
      await scene.api('POST', '/suppressions', { key: team.key, body: { email } });
    }
    const [newest] = (await scene.api('GET', '/suppressions', { key: team.key })).body.data;
    const { body } = await scene.api('GET', `/suppressions?after=${newest.id}`, { key: stranger.key });
    expect(body.data).toEqual([]);
  });

  it('cannot send from a domain of the other', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const domain = await team.domain();
    const body = { from: `a@${domain.name}`, to: 'y@example.org', subject: 'Hello', text: 'Hello' };
    expect(await scene.api('POST', '/emails', { key: stranger.key, body })).toMatchObject({
      status: 403,
      body: { name: 'validation_error' },
    });
  });
});
