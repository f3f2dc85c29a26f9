// the link of an invitation --> who may do what with it
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { readToken } from '../../src/features/identity/invitations/invitations.ts';
import { createAccount, PASSWORD, signIn } from '../rig/page-people.ts';
import { PageVisitor } from '../rig/page-visitor.ts';
import { createPeople } from '../rig/people.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team('The <i>team</i>');
  await team.domain();
});
afterEach(() => scene.clock.advance(16 * 60_000));
afterAll(() => scene.close());

/** The link in the mail of an invitation to this address. */
async function invite(email: string): Promise<string> {
  const owner = await createPeople(scene).person({ team, role: 'owner' });
  const made = await owner.call('POST', `/teams/${team.id}/invitations`, { email, role: 'member' });
  expect(made.status, made.text).toBe(201);
  const { world } = scene.app;
  const row = await world.db.get<{ id: string; token_hash: string }>('select * from team_invitations where id = ?', [
    made.body.id,
  ]);
  return `/invitation?token=${row ? readToken(world, row) : ''}`;
}

const BUTTON = 'Create account and join';

it('an invitation creates an account, joins and signs in, once', async () => {
  const visitor = new PageVisitor(scene);
  const link = await invite('grace@people.example');
  const page = await visitor.follow(visitor.open(link));
  expect(page.heading).toBe('You are invited to The <i>team</i>');
  expect(page.text).toContain('invited grace@people.example to join the team The <i>team</i> with the role member.');
  const short = await visitor.send(page, BUTTON, { name: 'Grace', password: 'x' });
  expect(short.forms[0]).toMatchObject({
    faults: { password: 'Password must have 6 to 4096 characters.' },
    fields: { name: 'Grace' },
  });
  const account = await visitor.follow(visitor.send(short, BUTTON, { password: PASSWORD }));
  expect(account.text).toContain('You joined the team.');
  expect(account.text).toContain('current team, your role: member');
  const again = new PageVisitor(scene);
  expect((await again.follow(again.open(link))).text).toContain('There is already an account with this address.');
});

it('an invitation for an address with an account asks to sign in, and returns to accept', async () => {
  const { email } = await createAccount(scene);
  const visitor = new PageVisitor(scene);
  const page = await visitor.follow(visitor.open(await invite(email)));
  expect(page.links).toContain('/sign-in?next=%2Finvitation');
  const signIn2 = await visitor.open('/sign-in?next=%2Finvitation');
  const back = await visitor.follow(visitor.send(signIn2, 'Sign in', { email, password: PASSWORD }));
  const done = await visitor.follow(visitor.send(back, 'Accept invitation'));
  expect(done.text).toContain('current team, your role: member');
});

it('an invitation is shown to somebody else who is signed in, and not accepted for them', async () => {
  const { email } = await createAccount(scene);
  const visitor = new PageVisitor(scene);
  await signIn(visitor, email);
  const page = await visitor.follow(visitor.open(await invite('hopper@people.example')));
  expect(page.text).toContain(`You are signed in as ${email}, but this invitation is for a different address.`);
  expect(page.forms.map(({ submit }) => submit)).toEqual(['Sign out and continue']);
  const token = (await invite('lovelace@people.example')).split('=')[1] ?? '';
  expect(await visitor.open('/invitation', { body: `token=${token}` })).toMatchObject({ status: 403 });
  const on = await visitor.follow(visitor.send(page, 'Sign out and continue'));
  expect(on.forms.map(({ submit }) => submit)).toEqual([BUTTON]);
});

it('an invitation without its token, withdrawn or expired reveals nothing about the team', async () => {
  const visitor = new PageVisitor(scene);
  expect(await visitor.open('/invitation')).toMatchObject({ status: 404, heading: 'This link does not work' });
  const link = await invite('late@people.example');
  scene.clock.advance(7 * 86_400_000);
  const late = await visitor.follow(visitor.open(link));
  expect(late).toMatchObject({ status: 404 });
  expect(late.text).not.toContain('late@people.example');
});
