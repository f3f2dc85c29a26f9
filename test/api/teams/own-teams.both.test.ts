import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPeople, type People } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
let people: People;
beforeAll(async () => {
  scene = await startScene();
  people = createPeople(scene);
});
afterAll(() => scene.close());

const refusal = ({ status, body }: { status: number; body: { name?: string } }) =>
  status < 300 ? `${status}` : `${status} ${body.name}`;

it('a person can create a team, owns it, switches to it and works there', async () => {
  const ada = await people.person();
  expect(refusal(await ada.call('GET', '/team'))).toBe('403 invalid_permission');
  const made = await ada.call('POST', '/teams', { name: 'Ada’s own' });
  expect([made.status, made.body.name]).toEqual([201, 'Ada’s own']);
  expect(refusal(await ada.call('GET', '/team'))).toBe('403 invalid_permission');
  expect((await ada.call('POST', `/teams/${made.body.id}/switch`)).body.id).toBe(made.body.id);
  expect((await ada.call('GET', '/team')).body.id).toBe(made.body.id);
  expect((await ada.call('GET', '/team/members')).body.data).toMatchObject([{ email: ada.email, role: 'owner' }]);
  const actor = { kind: 'user', id: ada.userId, name: ada.email };
  expect((await ada.call('GET', '/audit')).body.data).toMatchObject([
    { action: 'session.switched', team_id: made.body.id, actor },
    { action: 'team.created', subject_id: made.body.id, team_id: made.body.id, actor },
  ]);
});

it('two teams may have the same name, and neither creator learns of the other', async () => {
  const one = await people.person();
  const two = await people.person();
  const first = await one.call('POST', '/teams', { name: 'Twins' });
  const second = await two.call('POST', '/teams', { name: 'Twins' });
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.body.slug).not.toBe(first.body.slug);
});

it('a person can list only their own teams, page by page, and switch to no other', async () => {
  const ada = await people.person();
  const ids: string[] = [];
  for (const name of ['One', 'Two', 'Three'])
    ids.unshift((await ada.call('POST', '/teams', { name: `${name} ${randomUUID()}` })).body.id as string);
  const first = (await ada.call('GET', '/teams?limit=2')).body;
  const rest = (await ada.call('GET', `/teams?after=${first.data[1].id}`)).body;
  expect([first.has_more, rest.has_more]).toEqual([true, false]);
  expect([...first.data, ...rest.data].map((team: { id: string }) => team.id)).toEqual(ids);
  const foreign = await scene.team();
  const answers = [
    await ada.call('POST', `/teams/${foreign.id}/switch`),
    await ada.call('POST', `/teams/${randomUUID()}/switch`),
  ];
  expect(answers.map(({ status, text }) => `${status} ${text}`)).toEqual(Array(2).fill(`404 ${answers[0]?.text}`));
});

it('a person can create teams only with a verified address and up to 20, even with two requests at once', async () => {
  const hasty = await people.person({ isVerified: false });
  expect(refusal(await hasty.call('POST', '/teams', { name: 'Too soon' }))).toBe('403 invalid_permission');
  const ada = await people.person();
  const make = () => ada.call('POST', '/teams', { name: `Many ${randomUUID()}` });
  for (let made = 0; made < 19; made++) expect((await make()).status).toBe(201);
  expect((await Promise.all([make(), make()])).map(refusal).toSorted()).toEqual(['201', '422 validation_error']);
});

it('an invalid team name is refused by field', async () => {
  const ada = await people.person();
  for (const name of ['', 'x'.repeat(201), 'a\nb']) {
    const answer = await ada.call('POST', '/teams', { name });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(/^name must be one line of 1 to 200 characters/);
  }
});

it('the owner of a suspended team cannot create another team, which would replace it', async () => {
  const team = await scene.team();
  const owner = await people.person({ team, role: 'owner' });
  const member = await people.person({ team, role: 'member' });
  await scene.app.world.db.run("update teams set risk_state = 'suspended' where id = ?", [team.id]);
  const make = (person: typeof owner) => person.call('POST', '/teams', { name: `Anew ${randomUUID()}` });
  expect([await make(owner), await make(member)].map(refusal)).toEqual(['403 invalid_permission', '201']);
  await scene.app.world.db.run("update teams set risk_state = 'normal' where id = ?", [team.id]);
  expect((await make(owner)).status).toBe(201);
});
