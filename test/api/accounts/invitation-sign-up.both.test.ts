import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApiAnswer } from '../../rig/api.ts';
import { tokenTo } from '../../rig/mailbox.ts';
import { createPeople, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const PASSWORD = 'correct horse battery staple';
let scene: Scene;
let team: Team;
let owner: Person;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  await team.domain();
  owner = await createPeople(scene).person({ team, role: 'owner' });
});
afterAll(() => scene.close());

let guests = 0;
async function invited(role = 'admin'): Promise<{ email: string; token: string; id: string }> {
  const email = `guest${++guests}@guests.example`;
  const { id } = (await owner.call('POST', `/teams/${team.id}/invitations`, { email, role })).body;
  await scene.settled();
  return { id, email, token: tokenTo(scene, email) };
}

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  scene.api('POST', path, { body, headers: { origin: scene.url, ...headers } });
const signUp = (token: string, password = PASSWORD) => post('/invitations/signup', { token, password, name: 'Grace' });
const refusal = ({ status, body }: ApiAnswer) => (status < 300 ? `${status}` : `${status} ${body.name}`);
const readCookie = ({ headers }: ApiAnswer): string => headers.getSetCookie()[0]?.split(';')[0] ?? '';

it('sign-up with an invitation creates the account, adds it to the team and signs it in', async () => {
  const { email, token } = await invited();
  const answer = await signUp(token);
  expect(answer).toMatchObject({
    status: 200,
    body: { object: 'session', user: { email, name: 'Grace' }, current_team: { id: team.id } },
  });
  expect(answer.body.user.email_verified_at).not.toBeNull();
  const as = { headers: { cookie: readCookie(answer), origin: scene.url } };
  expect((await scene.api('GET', '/api-keys', as)).status).toBe(200);
  expect((await post('/auth/login', { email, password: PASSWORD })).status).toBe(200);
  const { data } = (await owner.call('GET', `/teams/${team.id}/members`)).body;
  expect(data.filter((one: { email: string }) => one.email === email)).toMatchObject([{ role: 'admin' }]);
  const entries = (await owner.call('GET', '/audit')).body.data.filter(
    ({ actor }: { actor: { name: string } }) => actor.name === email,
  );
  const actions = entries.map(({ action }: { action: string }) => action);
  for (const action of ['account.created', 'invitation.accepted', 'session.begun']) expect(actions).toContain(action);
  expect(JSON.stringify(entries)).not.toContain(token);
});

it('sign-up with an invitation refuses a common password, and the invitation can still be used', async () => {
  const { token } = await invited();
  const refused = await signUp(token, 'iloveyou');
  expect([refusal(refused), refused.body.message]).toEqual([
    '422 invalid_parameter',
    'password is one of the 3,000 most common passwords; choose another one.',
  ]);
  expect((await signUp(token)).status).toBe(200);
});

it('two sign-ups at once with one invitation create one account and one membership', async () => {
  for (let round = 0; round < 3; round++) {
    const { email, token } = await invited('viewer');
    const both = await Promise.all([signUp(token, 'password of one'), signUp(token, 'password of two')]);
    const statuses = both.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.toSorted()[1]).toBeGreaterThanOrEqual(404);
    const winner = statuses[0] === 200 ? 'password of one' : 'password of two';
    expect((await post('/auth/login', { email, password: winner })).status).toBe(200);
    const key = [email];
    expect(await scene.app.world.db.all('select id from users where email = ?', key)).toHaveLength(1);
    expect(refusal(await signUp(token))).toBe('404 not_found');
  }
});

it('sign-up with an invitation is refused for an address that has an account; the token does not replace its password', async () => {
  const { email, token } = await invited();
  await createPeople(scene).person({ email: email.toUpperCase() });
  const answer = await signUp(token);
  expect(refusal(answer)).toBe('409 resource_locked');
  expect(answer.body.message).toContain('sign in to accept');
  expect(answer.headers.getSetCookie()).toEqual([]);
});

it('sign-up with a withdrawn, expired or unknown invitation is refused and creates no account', async () => {
  const { email, token, id } = await invited();
  await owner.call('DELETE', `/teams/${team.id}/invitations/${id}`);
  const late = await invited();
  scene.clock.advance(7 * 24 * 3_600_000);
  for (const one of [token, late.token, 'ri_nothing']) expect(refusal(await signUp(one))).toBe('404 not_found');
  for (const one of [email, late.email])
    expect(await scene.app.world.db.all('select id from users where email = ?', [one])).toEqual([]);
});

it('sign-up with an invitation ends the previous session of the browser', async () => {
  const planted = await createPeople(scene).person();
  const { token } = await invited();
  const answer = await post(
    '/invitations/signup',
    { token, password: PASSWORD },
    { cookie: planted.headers['cookie'] ?? '' },
  );
  expect(answer.status).toBe(200);
  expect((await planted.call('GET', '/auth/session')).status).toBe(401);
});

it('switching to another of a person’s teams is entered in the audit log', async () => {
  const people = createPeople(scene);
  const person = await people.person({ team, role: 'member' });
  const other = (await person.call('POST', '/teams', { name: 'Elsewhere' })).body;
  expect((await person.call('POST', `/teams/${other.id}/switch`)).status).toBe(200);
  const key = await scene.operator();
  const { data } = (await scene.api('GET', '/operator/audit?limit=20', { key })).body;
  const [entry] = data.filter(({ action }: { action: string }) => action === 'session.switched');
  expect(entry).toMatchObject({ subject_id: other.id, team_id: other.id, actor: { kind: 'user', name: person.email } });
});
