import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

async function make(team: Team, name: string, more: object = {}): Promise<string> {
  return (await scene.api('POST', '/api-keys', { key: team.key, body: { name, ...more } })).body.id as string;
}
const list = (team: Team, query = '') => scene.api('GET', `/api-keys${query}`, { key: team.key });
async function names(team: Team, query = ''): Promise<string[]> {
  const { status, body } = await list(team, query);
  expect(status).toBe(200);
  return (body.data as { name: string }[]).map((key) => key.name);
}

describe('GET /api-keys filters', () => {
  it('return active and suspended keys for active, revoked ones for revoked, and every key for all', async () => {
    const team = await scene.team();
    await make(team, 'Live');
    const suspended = await make(team, 'Suspended');
    const revoked = await make(team, 'Revoked');
    await scene.app.world.db.run("update api_keys set status = 'suspended' where id = ?", [suspended]);
    await scene.api('DELETE', `/api-keys/${revoked}`, { key: team.key });
    expect(await names(team)).toEqual(['Suspended', 'Live', 'First key']);
    expect(await names(team, '?status=active')).toEqual(['Suspended', 'Live', 'First key']);
    expect(await names(team, '?status=revoked')).toEqual(['Revoked']);
    expect(await names(team, '?status=all')).toEqual(['Revoked', 'Suspended', 'Live', 'First key']);
    const statuses = (await list(team, '?status=all')).body.data.map((key: { status: string }) => key.status);
    expect(statuses).toEqual(['revoked', 'suspended', 'active', 'active']);
  });

  it('narrow the list by permission', async () => {
    const team = await scene.team();
    await make(team, 'Sender', { permission: 'sending_access' });
    expect(await names(team, '?permission=sending_access')).toEqual(['Sender']);
    expect(await names(team, '?permission=full_access')).toEqual(['First key']);
  });

  it('search part of a name in any letter case, even beyond ASCII, and take % and _ literally', async () => {
    const team = await scene.team();
    await make(team, 'Übergabe Lohn');
    await make(team, 'Caf\u00e9');
    await make(team, '100% sure_thing');
    await make(team, 'ПОЧТА');
    const search = (text: string) => names(team, `?search=${encodeURIComponent(text)}`);
    expect(await search('üBERG')).toEqual(['Übergabe Lohn']);
    expect(await search('cafe\u0301')).toEqual(['Caf\u00e9']);
    expect(await search('почта')).toEqual(['ПОЧТА']);
    expect(await search('%')).toEqual(['100% sure_thing']);
    expect(await search('e_t')).toEqual(['100% sure_thing']);
    expect(await search("' or 1=1 --")).toEqual([]);
  });

  it('can be combined', async () => {
    const team = await scene.team();
    await make(team, 'Mail one', { permission: 'sending_access' });
    const gone = await make(team, 'Mail two', { permission: 'sending_access' });
    await make(team, 'Mail three');
    await scene.api('DELETE', `/api-keys/${gone}`, { key: team.key });
    expect(await names(team, '?search=mail&permission=sending_access')).toEqual(['Mail one']);
    expect(await names(team, '?search=mail&permission=sending_access&status=revoked')).toEqual(['Mail two']);
  });

  it.each([
    ['?search=', 'search'],
    ['?search=%20%09', 'search'],
    ['?status=suspended', 'status'],
    ['?permission=read', 'permission'],
  ])('are refused and named when invalid: %s', async (query, field) => {
    const team = await scene.team();
    expect(await list(team, query)).toMatchObject({
      status: 422,
      body: { name: 'invalid_parameter', message: expect.stringContaining(field) },
    });
  });
});

describe('GET /api-keys pages', () => {
  it('apply filters before paging in both directions, with a correct has_more', async () => {
    const team = await scene.team();
    for (let n = 1; n <= 5; n++) {
      await make(team, `Wanted ${n}`);
      await make(team, `Other ${n}`);
    }
    for (const search of ['', '&search=wanted']) {
      const seen: string[] = [];
      let after = '';
      for (let page = 0; ; page++) {
        const { body } = await list(team, `?limit=2${search}${after}`);
        seen.push(...body.data.map((key: { name: string }) => key.name));
        expect(body.data.length).toBeLessThanOrEqual(2);
        if (!body.has_more) break;
        expect(page).toBeLessThan(10);
        after = `&after=${body.data.at(-1).id as string}`;
      }
      expect(seen).toEqual(await names(team, `?limit=100${search}`));
    }
    const whole = (await list(team, '?search=wanted')).body.data as { id: string; name: string }[];
    const before = await list(team, `?search=wanted&limit=2&before=${whole[4]?.id}`);
    expect(before.body).toMatchObject({ has_more: true, data: [{ name: 'Wanted 3' }, { name: 'Wanted 2' }] });
    const first = await list(team, `?search=wanted&limit=2&before=${whole[1]?.id}`);
    expect(first.body).toMatchObject({ has_more: false, data: [{ name: 'Wanted 5' }] });
  });
});

it('last_used_at moves at most once a minute, and not when the key is refused', async () => {
  const team = await scene.team();
  const { body } = await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Used' } });
  const lastUsed = async (): Promise<string | null> => {
    await scene.app.world.commits.settled();
    const { data } = (await list(team, '?search=used')).body;
    await scene.app.world.commits.settled();
    return data[0].last_used_at as string | null;
  };
  const use = () => scene.api('GET', '/domains', { key: body.token });
  expect(await lastUsed()).toBeNull();
  await use();
  const first = await lastUsed();
  expect(first).toBe(new Date(scene.clock.now()).toISOString());
  scene.clock.advance(59_999);
  await use();
  expect(await lastUsed()).toBe(first);
  // A restarted process remembers nothing, and the rule still holds.
  await scene.restart();
  await use();
  expect(await lastUsed()).toBe(first);
  scene.clock.advance(60_000);
  await use();
  expect(await lastUsed()).toBe(new Date(scene.clock.now()).toISOString());
});
