import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPeople, type People } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let people: People;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team('Analytical Engines');
  people = createPeople(scene);
});
afterAll(() => scene.close());

it('a person sees their own sessions in any team, and nobody else does', async () => {
  const ada = await people.person({ team });
  await people.person({ team });
  const elsewhere = await scene.team();
  const nowhere = await people.session(ada);
  const listed = await ada.call('GET', '/auth/sessions');
  expect(listed).toMatchObject({ status: 200, body: { object: 'list', has_more: false } });
  const named = { id: team.id, name: 'Analytical Engines' };
  expect(listed.body.data).toHaveLength(2);
  expect(listed.body.data).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ kind: 'browser', team: named, is_current: true }),
      expect.objectContaining({ kind: 'browser', team: null, is_current: false }),
    ]),
  );
  const { db } = scene.app.world;
  // A team that the person has left, or that is suspended, is not named.
  await db.run('update sessions set current_team_id = ? where user_id = ?', [elsewhere.id, ada.userId]);
  const teams = (await nowhere.call('GET', '/auth/sessions')).body.data.map((one: { team: unknown }) => one.team);
  expect(teams).toEqual([null, null]);
});

it('the list of sessions has pages and omits expired ones', async () => {
  const ada = await people.person({ team });
  for (let i = 0; i < 4; i++) await people.session(ada, team.id);
  const all = (await ada.call('GET', '/auth/sessions')).body.data.map(({ id }: { id: string }) => id);
  expect(all).toEqual([...all].sort().reverse());
  const first = (await ada.call('GET', '/auth/sessions?limit=3')).body;
  const rest = (await ada.call('GET', `/auth/sessions?limit=3&after=${first.data[2].id}`)).body;
  expect([first.has_more, rest.has_more]).toEqual([true, false]);
  expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(all);
  const { id } = [...first.data, ...rest.data].find((one) => !one.is_current);
  await scene.app.world.db.run('update sessions set expires_at = ? where id = ?', [scene.clock.now(), id]);
  expect((await ada.call('GET', '/auth/sessions')).body.data).toHaveLength(4);
});

it('a person can end one of their sessions at once, with an audit entry', async () => {
  const ada = await people.person({ team, role: 'admin' });
  const other = await people.session(ada, team.id);
  const { data } = (await ada.call('GET', '/auth/sessions')).body;
  const { id } = data.find((one: { is_current: boolean }) => !one.is_current);
  expect(await ada.call('DELETE', `/auth/sessions/${id.toUpperCase()}`)).toMatchObject({
    status: 200,
    body: { object: 'session', id, deleted: true },
  });
  expect((await other.call('GET', '/auth/session')).status).toBe(401);
  expect((await ada.call('GET', '/auth/session')).status).toBe(200);
  const entry = {
    action: 'session.ended',
    subject_id: id,
    actor: { kind: 'user', id: ada.userId },
    details: { kind: 'browser', client_name: null },
  };
  expect((await ada.call('GET', '/audit?limit=1')).body.data).toMatchObject([entry]);
  expect((await ada.call('DELETE', `/auth/sessions/${id}`)).status).toBe(404);
});

it('sessions of other people return 404', async () => {
  const ada = await people.person({ team });
  const eve = await people.person({ team, role: 'owner' });
  const [{ id }] = (await ada.call('GET', '/auth/sessions')).body.data;
  const foreign = await eve.call('DELETE', `/auth/sessions/${id}`);
  const none = await eve.call('DELETE', `/auth/sessions/${randomUUID()}`);
  expect(foreign).toMatchObject({ status: 404, body: { message: 'Session not found.' } });
  expect(foreign.text).toBe(none.text);
  expect((await ada.call('GET', '/auth/session')).status).toBe(200);
  expect(await scene.api('GET', '/auth/sessions', { key: team.key })).toMatchObject({ status: 403 });
});
