import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { administerTeam, createTeam } from '../../../src/tenancy/teams/index.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

const UNSEEN = ['a\u202eb', 'a\u2066b', 'a\u200bb', 'a\u200fb', 'a\ufeffb', 'a\u0007b', 'a\nb', 'a\u2028b', 'a\u0085b'];
/** A soft hyphen, a variation selector, and a combining grapheme joiner show nothing by themselves. */
const BLANK = ['\u00ad', ' \u00ad\u00ad ', '\ufe0f', '\u034f'];
const SEEN = ['Wort\u00adtrennung', 'Ana 👩‍🚀', 'می\u200cخواهم', 'Größe & "Söhne"', 'שלום'];

describe('the name of a team', () => {
  it('a team name never stands for another team, because ids are looked up before slugs', async () => {
    const victim = await scene.team();
    const decoy = await scene.team();
    await scene.app.world.db.run('update teams set slug = ? where id = ?', [victim.id, decoy.id]);
    for (const named of [victim.id, victim.id.toUpperCase()]) {
      expect((await administerTeam(scene.app.world, named, { name: 'Found' })).id).toBe(victim.id);
    }
    const old = randomUUID();
    await scene.app.world.db.run('update teams set slug = ? where id = ?', [old, decoy.id]);
    expect((await administerTeam(scene.app.world, old, {})).id, 'a slug in this form is still a name').toBe(decoy.id);
  });

  it('a team name with the form of an id or with invisible characters is refused on every path', async () => {
    const person = await createPeople(scene).person({ team: await scene.team() });
    const id = randomUUID();
    for (const name of [id, ` ${id.toUpperCase()} `, id.replaceAll('-', '_'), ...UNSEEN, ...BLANK]) {
      const made = await person.call('POST', '/teams', { name });
      expect([made.status >= 400, made.body.name], name).toEqual([true, 'validation_error']);
      await expect(createTeam(scene.app.world, { name }), name).rejects.toMatchObject({ status: 422 });
    }
    const team = await scene.team();
    await expect(administerTeam(scene.app.world, team.id, { name: id })).rejects.toMatchObject({ status: 422 });
    for (const name of SEEN) expect((await createTeam(scene.app.world, { name })).teamId).toBeTruthy();
  });
});

describe('names of the objects of a team', () => {
  const families: [family: string, path: string, more: object][] = [
    ['segment', '/segments', {}],
    ['topic', '/topics', { default_subscription: 'opt_in' }],
    ['template', '/templates', { html: '<p>x</p>' }],
    ['API key', '/api-keys', {}],
    ['broadcast', '/broadcasts', { from: 'a@example.com', subject: 'x' }],
    [
      'automation',
      '/automations',
      { steps: [{ key: 's', type: 'trigger', config: { event_name: 'rasket:contact.created' } }], connections: [] },
    ],
  ];
  const tables: Record<string, string> = { '/api-keys': 'api_keys' };

  it.each(families)(
    'a %s name with control, bidirectional or zero-width characters is refused, and an existing one stays readable',
    async (_, path, more) => {
      const team = await scene.team();
      const call = (method: string, url: string, body?: object) =>
        scene.api(method, url, { key: team.key, ...(body && { body }) });
      for (const name of [...UNSEEN, ...BLANK]) {
        const refused = await call('POST', path, { ...more, name });
        expect([refused.status, refused.body.errors?.[0]?.path], name).toEqual([400, 'name']);
      }
      let id = '';
      for (const name of SEEN) {
        const made = await call('POST', path, { ...more, name });
        expect(made.status, made.text).toBe(201);
        id = made.body.id;
      }
      const changed = await call('PATCH', `${path}/${id}`, { name: 'a\u202eb' });
      expect([changed.status, changed.body.errors?.[0]?.path]).toEqual([400, 'name']);
      await scene.app.world.db.run(`update ${tables[path] ?? path.slice(1)} set name = ? where id = ?`, [
        'a\u202eb',
        id,
      ]);
      const listed = (await call('GET', path)).body.data.find((one: { id: string }) => one.id === id);
      expect(listed.name).toBe('a\u202eb');
    },
  );
});
