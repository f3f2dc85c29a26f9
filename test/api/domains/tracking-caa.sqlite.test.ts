import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const change = (team: Team, id: string, body: unknown) => scene.api('PATCH', `/domains/${id}`, { key: team.key, body });
const read = async (team: Team, id: string) => (await scene.api('GET', `/domains/${id}`, { key: team.key })).body;
const listCaa = (body: { records: { record: string }[] }) =>
  body.records.filter(({ record }) => record === 'TrackingCAA');
async function verify(team: Team, id: string): Promise<void> {
  scene.clock.advance(60_000);
  expect((await scene.api('POST', `/domains/${id}/verify`, { key: team.key })).status).toBe(200);
}

describe('the TrackingCAA record', () => {
  it.each<[string, string, string[]]>([
    ['nobody forbids anything', 'none.example', []],
    ['the authority is permitted', 'named.example', ['0 issue "letsencrypt.org; validationmethods=dns-01"']],
    ['only other properties are set', 'other.example', ['0 iodef "mailto:a@example.com"']],
  ])('is not required if %s', async (_, zone, caa) => {
    const team = await scene.team();
    scene.dns.set(zone, 'CAA', caa);
    const domain = await team.domain(`mail.${zone}`);
    expect((await change(team, domain.id, { open_tracking: true })).status).toBe(200);
    const body = await read(team, domain.id);
    expect([body.status, listCaa(body)]).toEqual(['verified', []]);
  });

  it('is required at the domain’s own name if the zone above forbids the authority, and stays once it is published', async () => {
    const team = await scene.team();
    scene.dns.set('strict.example', 'CAA', ['0 issue "ca.example.net"']);
    const domain = await team.domain('mail.strict.example');
    await change(team, domain.id, { click_tracking: true });
    const asked = await read(team, domain.id);
    expect(listCaa(asked)).toMatchObject([
      {
        type: 'CAA',
        name: 'mail.strict.example',
        value: '0 issue "letsencrypt.org"',
        required: true,
        status: expect.stringMatching(/^(failed|pending)$/),
      },
    ]);
    // Sending does not depend on it.
    expect(asked).toMatchObject({ status: 'verified', capabilities: { sending: 'verified' } });
    publish(scene.dns, asked);
    for (let look = 0; look < 3; look++) {
      await verify(team, domain.id);
      const seen = await read(team, domain.id);
      expect(listCaa(seen)).toMatchObject([{ required: true, status: 'verified' }]);
    }
    await change(team, domain.id, { click_tracking: false });
    expect(listCaa(await read(team, domain.id))).toEqual([]);
  });

  it('becomes required when a later check finds the authority forbidden, with an event', async () => {
    const team = await scene.team();
    const domain = await team.domain('mail.later.example');
    await change(team, domain.id, { click_tracking: true });
    expect(listCaa(await read(team, domain.id))).toEqual([]);
    const before = (await scene.events(domain.id)).length;
    scene.dns.set('later.example', 'CAA', ['0 issue ";"']);
    await verify(team, domain.id);
    expect(listCaa(await read(team, domain.id))).toHaveLength(1);
    const told = (await scene.events(domain.id)).slice(before);
    expect(told.map(({ type }) => type)).toEqual(['domain.updated']);
    expect(listCaa(told[0]?.data as { records: { record: string }[] })).toHaveLength(1);
  });

  it('is not required because a CAA lookup failed', async () => {
    const team = await scene.team();
    const domain = await team.domain('mail.silent.example');
    scene.dns.set('silent.example', 'CAA', 'SERVFAIL');
    await change(team, domain.id, { click_tracking: true });
    await verify(team, domain.id);
    expect(listCaa(await read(team, domain.id))).toEqual([]);
  });
});
