// a person who is signed in --> the pages of the account
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccount, joinTeam, PASSWORD, signIn } from '../rig/page-people.ts';
import { PageVisitor } from '../rig/page-visitor.ts';
import { startScene, type Scene } from '../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

let teams = 0;

async function signedIn() {
  const number = ++teams;
  const first = await scene.team(`First <b>team</b> ${number}`);
  const other = await scene.team(`Other team ${number}`);
  const account = await createAccount(scene, { team: first });
  await joinTeam(scene, other, account.id, 'viewer');
  const visitor = new PageVisitor(scene);
  const page = await signIn(visitor, account.email);
  return { ...account, number, first, visitor, page };
}

it('the account page shows the teams, and switches between them', async () => {
  const { visitor, page, number } = await signedIn();
  expect(page.text).toContain(`First <b>team</b> ${number} current team, your role: owner`);
  const switched = await visitor.follow(visitor.send(page, 'Switch'));
  expect(switched.text).toContain(`Other team ${number} current team, your role: viewer`);
  expect(switched.text).toContain('You switched to another team.');
  const strange = await scene.team();
  const body = `team_id=${strange.id}`;
  expect(await visitor.open('/account/team', { body })).toMatchObject({ status: 404, heading: 'Your account' });
  expect((await visitor.open('/account/team', { body: 'team_id=x' })).text).toContain(
    'Team_id must be the id of a team',
  );
  expect((await visitor.open('/account')).text).toContain(`Other team ${number} current team`);
});

it('the account page changes the password, ends the other sessions, and shows errors', async () => {
  const { visitor, email } = await signedIn();
  const elsewhere = new PageVisitor(scene);
  await signIn(elsewhere, email);
  const page = await visitor.open('/account/password');
  const wrong = await visitor.send(page, 'Change password', {
    current_password: 'no',
    password: 'another password',
  });
  expect(wrong).toMatchObject({ status: 422 });
  expect(wrong.text).toContain('The current password is wrong.');
  const short = await visitor.send(page, 'Change password', { current_password: PASSWORD, password: 'ab' });
  expect(short.forms[0]?.faults).toEqual({ password: 'Password must have 6 to 4096 characters.' });
  const done = await visitor.follow(
    visitor.send(page, 'Change password', { current_password: PASSWORD, password: 'another password' }),
  );
  expect(done.text).toContain('Your password was changed');
  expect((await elsewhere.open('/account')).status).toBe(303);
  expect((await signIn(elsewhere, email, 'another password')).heading).toBe('Your account');
});

it('the account page shows the sessions, ends one, and ends all', async () => {
  const { visitor, email } = await signedIn();
  const phone = new PageVisitor(scene);
  await signIn(phone, email);
  const list = await visitor.open('/account/sessions');
  expect(list.forms.filter(({ submit }) => submit === 'End session')).toHaveLength(1);
  expect(list.text).toContain('This session');
  expect((await visitor.follow(visitor.send(list, 'End session'))).text).toContain('The session was ended.');
  expect((await phone.open('/account')).status).toBe(303);
  await signIn(phone, email);
  const out = await visitor.follow(visitor.send(await visitor.open('/account/sessions'), 'Sign out everywhere'));
  expect(out.text).toContain('You are signed out everywhere.');
  expect((await phone.open('/account')).status).toBe(303);
});

it('the account page ends no session of somebody else', async () => {
  const one = await signedIn();
  const other = await signedIn();
  const [row] = await scene.app.world.db.all<{ id: string }>('select id from sessions where user_id = ?', [other.id]);
  await one.visitor.open('/account/sessions', { body: `session_id=${row?.id ?? ''}` });
  expect((await other.visitor.open('/account')).status).toBe(200);
});

it('the account page writes the same entries to the audit log as the API', async () => {
  const { visitor, first, page } = await signedIn();
  await visitor.send(page, 'Sign out');
  const { data } = (await scene.api('GET', '/audit?limit=3', { key: first.key })).body;
  expect(data.map(({ action }: { action: string }) => action)).toEqual(
    expect.arrayContaining(['session.ended', 'session.begun']),
  );
});
