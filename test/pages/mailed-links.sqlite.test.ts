// a link in a mail --> signing up, verifying an address, choosing a new password
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makePasswordReset, verificationTokens } from '../../src/features/identity/accounts/passwords.ts';
import { createAccount, PASSWORD, signIn } from '../rig/page-people.ts';
import { PageVisitor } from '../rig/page-visitor.ts';
import { startScene, type Scene } from '../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'], config: { accounts: { sign_up: 'open' } } });
});
afterEach(() => scene.clock.advance(16 * 60_000));
afterAll(() => scene.close());

/** The links as their mails have them. */
async function verification(): Promise<string> {
  const { db, secrets } = scene.app.world;
  const row = await db.get<{ id: string }>('select id from sign_ups order by id desc limit 1');
  return verificationTokens.make(secrets, row?.id ?? '');
}
const reset = async (email: string) => (await makePasswordReset(scene.app.world, email)).token;

describe('signing up', () => {
  it('sends a link, whose button creates the account', async () => {
    const visitor = new PageVisitor(scene);
    const page = await visitor.open('/sign-up');
    const mailed = await visitor.follow(
      visitor.send(page, 'Create account', { email: 'new@people.example', name: 'New', password: PASSWORD }),
    );
    expect(mailed.heading).toBe('Check your email');
    const token = await verification();
    const opened = await visitor.open(`/verify-email?token=${token}`);
    expect(opened).toMatchObject({ status: 303, leadsTo: '/verify-email' });
    expect(opened.headers['set-cookie']?.[0]).toMatch(/; HttpOnly; SameSite=Lax/);
    const asked = await visitor.follow(opened);
    expect(asked.heading).toBe('Verify your email address');
    expect((await signIn(new PageVisitor(scene), 'new@people.example')).status).toBe(422);
    const done = await visitor.follow(visitor.send(asked, 'Verify and create account'));
    expect(done.text).toContain('Your email address is verified.');
    expect((await signIn(visitor, 'new@people.example')).heading).toBe('Your account');
  });

  it('by somebody else does not create an account with their password, which the owner of the mailbox chooses', async () => {
    const email = 'invited@people.example';
    const stranger = new PageVisitor(scene);
    const planted = { email, password: 'planted by a stranger' };
    await stranger.send(await stranger.open('/sign-up'), 'Create account', planted);
    const link = `/verify-email?token=${await verification()}`;
    const owner = new PageVisitor(scene);
    const begun = async () =>
      owner.follow(owner.send(await owner.follow(owner.open(link)), 'Verify and create account'));
    expect((await begun()).heading).toBe('Choose a new password');
    // The link can be opened again after that page was closed.
    const choosing = await begun();
    expect(choosing.text).toContain('has no password yet');
    expect((await signIn(stranger, email, planted.password)).status).toBe(422);
    const done = await owner.follow(owner.send(choosing, 'Set new password', { password: PASSWORD }));
    expect(done.text).toContain('Your password was changed');
    expect((await signIn(owner, email)).heading).toBe('Your account');
    expect((await begun()).heading).not.toBe('Choose a new password');
  });

  it('has the same response for an address that has an account', async () => {
    const { email } = await createAccount(scene);
    const visitor = new PageVisitor(scene);
    const page = await visitor.open('/sign-up');
    const known = await visitor.send(page, 'Create account', { email, password: PASSWORD });
    const unknown = await visitor.send(page, 'Create account', {
      email: 'nobody.else@people.example',
      password: PASSWORD,
    });
    expect([known.status, known.leadsTo, known.html]).toEqual([unknown.status, unknown.leadsTo, unknown.html]);
  });

  it('shows errors at the fields, and keeps the input except for the password', async () => {
    const visitor = new PageVisitor(scene);
    const page = await visitor.open('/sign-up');
    const typed = { email: 'a@people.example', name: 'A"<b>', password: 'short' };
    const wrong = await visitor.send(page, 'Create account', typed);
    expect(wrong).toMatchObject({ status: 400, title: 'Error: Create your account – rasket' });
    expect(wrong.forms[0]).toMatchObject({
      faults: { password: 'Password must have 6 to 4096 characters.' },
      fields: { email: 'a@people.example', password: '' },
    });
    expect(wrong.html).toContain('value="A&quot;&lt;b&gt;"');
  });

  it('with an invalid or truncated link says so', async () => {
    const visitor = new PageVisitor(scene);
    for (const token of ['rv_x', 'rv_%0d%0a', '%3Cscript%3E', 'a'.repeat(600)]) {
      const page = await visitor.follow(visitor.open(`/verify-email?token=${token}`));
      const answer = page.forms.length === 0 ? page : await visitor.send(page, 'Verify and create account');
      expect(answer).toMatchObject({ status: 404, heading: 'This link does not work' });
    }
  });
});

describe('a new password', () => {
  it('is chosen with a link that works once, and ends all sessions', async () => {
    const { email } = await createAccount(scene);
    const visitor = new PageVisitor(scene);
    const elsewhere = new PageVisitor(scene);
    await signIn(elsewhere, email);
    const mailed = await visitor.follow(
      visitor.send(await visitor.open('/forgot-password'), 'Send password reset email', { email }),
    );
    expect(mailed.heading).toBe('Check your email');
    const link = `/reset-password?token=${await reset(email)}`;
    const page = await visitor.follow(visitor.open(link));
    expect(page.heading).toBe('Choose a new password');
    const short = await visitor.send(page, 'Set new password', { password: 'x' });
    expect(short.forms[0]?.faults['password']).toBe('Password must have 6 to 4096 characters.');
    const done = await visitor.follow(visitor.send(short, 'Set new password', { password: 'a new password' }));
    expect(done.text).toContain('Your password was changed');
    expect((await elsewhere.open('/account')).status).toBe(303);
    expect((await signIn(elsewhere, email, 'a new password')).heading).toBe('Your account');
    const again = await visitor.follow(visitor.open(link));
    expect(await visitor.send(again, 'Set new password', { password: 'a third one' })).toMatchObject({
      status: 404,
    });
  });

  it('has the same response for an address without an account', async () => {
    const { email } = await createAccount(scene);
    const visitor = new PageVisitor(scene);
    const page = await visitor.open('/forgot-password');
    const ask = (address: string) => visitor.send(page, 'Send password reset email', { email: address });
    const known = await ask(email);
    const unknown = await ask('nobody@people.example');
    expect([known.status, known.leadsTo, known.html]).toEqual([unknown.status, unknown.leadsTo, unknown.html]);
  });

  it('uses the link of its own tab when another one is opened', async () => {
    const { email } = await createAccount(scene);
    const visitor = new PageVisitor(scene);
    const page = await visitor.follow(visitor.open(`/reset-password?token=${await reset(email)}`));
    await visitor.open('/reset-password?token=rp_of_somebody_else');
    const done = await visitor.send(page, 'Set new password', { password: 'a new password' });
    expect(done.leadsTo).toBe('/sign-in?said=password-changed');
  });
});

it('the sign-up page says when sign-up is closed', async () => {
  await using closed = await startScene({ roles: ['http'], config: { accounts: { sign_up: 'closed' } } });
  const visitor = new PageVisitor(closed);
  expect(await visitor.open('/sign-up')).toMatchObject({ status: 403, heading: 'Sign-up is closed' });
  expect((await visitor.open('/sign-up', { body: 'email=a@b.example' })).status).toBe(403);
  expect((await visitor.open('/sign-in')).links).not.toContain('/sign-up');
});
