// a person with a browser --> signing in and out, in one step and in two
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createAccount, codeFor, PASSWORD, signIn } from '../rig/page-people.ts';
import { readPixels, readQrCode } from '../rig/qr-code.ts';
import { PageVisitor } from '../rig/page-visitor.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
});
afterEach(() => scene.clock.advance(16 * 60_000));
afterAll(() => scene.close());

const SESSION = 'rasket_session';

describe('signing in', () => {
  it('leads to the account, and back out after a sign-out', async () => {
    const { email } = await createAccount(scene, { team });
    const visitor = new PageVisitor(scene);
    const account = await signIn(visitor, email);
    expect(account).toMatchObject({ status: 200, heading: 'Your account' });
    expect(account.text).toContain(email);
    expect(await visitor.open('/sign-in')).toMatchObject({ status: 303, leadsTo: '/account' });
    const out = await visitor.follow(visitor.send(account, 'Sign out'));
    expect(out.text).toContain('You are signed out.');
    expect(visitor.cookies.has(SESSION)).toBe(false);
    expect(await visitor.open('/account')).toMatchObject({ status: 303, leadsTo: '/sign-in?next=%2Faccount' });
  });

  it('shows errors, and keeps the address and not the password', async () => {
    const { email } = await createAccount(scene);
    const visitor = new PageVisitor(scene);
    const page = await visitor.open('/sign-in');
    const wrong = await visitor.send(page, 'Sign in', { email, password: 'not this one' });
    expect(wrong).toMatchObject({ status: 422, title: 'Error: Sign in – rasket' });
    expect(wrong.html).toMatch(/role="alert"[^>]*>The email or the password is wrong\./);
    expect(wrong.forms[0]?.fields).toEqual({ email, password: '' });
    expect(wrong.html).toMatch(/name="password"[^>]*aria-describedby="f-alert"[^>]*autofocus/);
    const unknown = await visitor.send(page, 'Sign in', { email: 'nobody@people.example', password: 'not this one' });
    expect(unknown.html.replaceAll('nobody@people.example', email)).toBe(wrong.html);
    const empty = await visitor.send(page, 'Sign in');
    expect(empty.forms[0]?.faults).toEqual({
      email: 'Email must be an address of 3 to 320 characters.',
      password: 'Password must have 1 to 4096 characters.',
    });
    expect(visitor.cookies.has(SESSION)).toBe(false);
  });

  it('is refused for a while after too many wrong passwords, with the time to wait', async () => {
    const { email } = await createAccount(scene);
    const visitor = new PageVisitor(scene);
    const page = await visitor.open('/sign-in');
    for (let n = 0; n < 10; n++) await visitor.send(page, 'Sign in', { email, password: 'wrong' });
    const over = await visitor.send(page, 'Sign in', { email, password: PASSWORD });
    expect(over).toMatchObject({ status: 429, headers: { 'retry-after': '900' } });
    expect(over.text).toContain('Try again in 900 s.');
  });

  it('returns to the page the person wanted, and to no other host', async () => {
    const { email } = await createAccount(scene, { team });
    const visitor = new PageVisitor(scene);
    const asked = await visitor.open('/account/password?x=1');
    expect(asked.leadsTo).toBe('/sign-in?next=%2Faccount%2Fpassword%3Fx%3D1');
    const page = await visitor.open(asked.leadsTo ?? '');
    const done = await visitor.send(page, 'Sign in', { email, password: PASSWORD });
    expect(done.leadsTo).toBe('/account/password?x=1');
    for (const next of [
      '//evil.example',
      'https://evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      '/.//evil.example',
    ]) {
      const body = new URLSearchParams({ email, password: PASSWORD, next }).toString();
      expect([next, (await visitor.open('/sign-in', { body })).leadsTo]).toEqual([next, '/account']);
      const led = await visitor.open(`/sign-in?next=${encodeURIComponent(next)}`);
      expect([next, led.leadsTo]).toEqual([next, '/account']);
      const out = await visitor.open('/sign-out', { body: new URLSearchParams({ next }).toString() });
      expect([next, out.leadsTo]).toEqual([next, '/sign-in?said=signed-out']);
    }
  });

  it('accepts no planted session, and none from the page of another site', async () => {
    const { email } = await createAccount(scene);
    const attacker = await createAccount(scene);
    const evil = new PageVisitor(scene);
    await signIn(evil, attacker.email);
    const planted = evil.cookies.get(SESSION) ?? '';
    const visitor = new PageVisitor(scene, { [SESSION]: planted });
    const body = new URLSearchParams({ email, password: PASSWORD }).toString();
    await visitor.open('/sign-in', { body });
    expect(visitor.cookies.get(SESSION)).not.toBe(planted);
    expect((await evil.open('/account')).status).toBe(303);
    const fresh = new PageVisitor(scene);
    const login = { body: new URLSearchParams({ email: attacker.email, password: PASSWORD }).toString() };
    for (const origin of ['https://evil.example', 'null', null]) {
      expect((await fresh.open('/sign-in', { ...login, headers: { origin } })).status).toBe(403);
    }
    expect(fresh.cookies.size).toBe(0);
  });

  it('accepts a form with each field once, in UTF-8, of at most 64 KB', async () => {
    const visitor = new PageVisitor(scene);
    const post = (body: string, type = 'application/x-www-form-urlencoded') =>
      visitor.open('/sign-in', { body, headers: { 'content-type': type } });
    expect((await post('email=a&email=b')).text).toContain('contains "email" more than once');
    expect((await post('email=%ff')).text).toContain('is not valid UTF-8');
    expect((await post('{}', 'application/json')).status).toBe(400);
    expect((await post(`email=${'a'.repeat(64 * 1024)}`)).text).toContain('at most 65536 bytes');
    expect((await post('email=a%00b&password=x')).forms[0]?.faults['email']).toContain('NUL');
    expect((await visitor.open('/sign-in?next=/a&next=/b')).status).toBe(400);
  });

  it('works without User-Agent, and ignores an expired session and a duplicated cookie', async () => {
    const { email } = await createAccount(scene);
    const visitor = new PageVisitor(scene);
    expect((await visitor.open('/sign-in', { headers: { 'user-agent': null } })).status).toBe(200);
    await signIn(visitor, email);
    const cookie = `${SESSION}=${visitor.cookies.get(SESSION) ?? ''}`;
    expect((await visitor.open('/account', { headers: { cookie: `${cookie}; ${cookie}` } })).status).toBe(303);
    await scene.app.world.db.run('delete from sessions', []);
    expect((await visitor.open('/account')).status).toBe(303);
  });
});

describe('a second factor', () => {
  it('draws its QR code for an address with markup characters, and nothing else', async () => {
    const { email } = await createAccount(scene, { team, email: `"a'b<svg&c>"@people.example` });
    const visitor = new PageVisitor(scene);
    await signIn(visitor, email);
    const setUp = await visitor.send(await visitor.open('/account/mfa'), 'Set up an authenticator app');
    expect(new URL(readQrCode(readPixels(setUp.html)) ?? '').pathname).toContain(encodeURIComponent(email));
    expect(setUp.html.match(/<svg/g)).toHaveLength(1);
    const sent = { code: '12', password: PASSWORD, otpauth_url: 'otpauth://"><svg onload=x>', secret: '<svg>' };
    const confirm = (fields: Record<string, string>) =>
      visitor.open('/account/mfa/confirm', { body: new URLSearchParams(fields).toString() });
    const forged = await confirm(sent);
    expect(forged.status).toBe(422);
    expect(forged.html.match(/<svg/g)).toHaveLength(1);
    expect(readQrCode(readPixels(forged.html))).toBe(sent.otpauth_url);
    const long = await confirm({ ...sent, otpauth_url: `otpauth://${'x'.repeat(4000)}` });
    expect([long.status, long.html.includes('<svg')]).toEqual([422, false]);
  });

  it('is set up, shows recovery codes once, is required, and is switched off', async () => {
    const { email } = await createAccount(scene, { team });
    const visitor = new PageVisitor(scene);
    await signIn(visitor, email);
    const setUp = await visitor.send(await visitor.open('/account/mfa'), 'Set up an authenticator app');
    const key = /<code>([A-Z2-7 ]+)<\/code>/.exec(setUp.html)?.[1] ?? '';
    const link = setUp.links.find((one) => one.startsWith('otpauth://totp/'));
    expect(link).toContain(key.replaceAll(' ', ''));
    expect(readQrCode(readPixels(setUp.html))).toBe(link);
    const wrong = await visitor.send(setUp, 'Turn on', { code: '12', password: PASSWORD });
    expect(wrong).toMatchObject({ status: 422, heading: 'Set up an authenticator app' });
    expect(Object.keys(wrong.forms[0]?.faults ?? {})).toEqual(['code']);
    expect(wrong.html).toContain(key);
    expect(readQrCode(readPixels(wrong.html))).toBe(link);
    const on = await visitor.send(wrong, 'Turn on', { code: codeFor(scene, key), password: PASSWORD });
    const codes = [...on.html.matchAll(/<li>([\w-]+)<\/li>/g)].map(([, code = '']) => code);
    expect(codes).toHaveLength(10);
    expect((await visitor.open('/account/mfa')).html).not.toContain(codes[0]);

    scene.clock.advance(120_000);
    const second = new PageVisitor(scene);
    const asked = await second.send(await second.open('/sign-in?next=/account/password'), 'Sign in', {
      email,
      password: PASSWORD,
    });
    expect(asked.leadsTo).toBe('/sign-in/code?next=%2Faccount%2Fpassword');
    expect(second.cookies.has(SESSION)).toBe(false);
    const step = await second.open(asked.leadsTo ?? '');
    expect((await second.send(step, 'Sign in', { code: '000000' })).forms[0]?.faults['code']).toBeDefined();
    const stranger = new PageVisitor(
      scene,
      Object.fromEntries([...second.cookies].filter(([name]) => name.startsWith('rasket_page'))),
    );
    expect((await stranger.send(step, 'Sign in', { code: codeFor(scene, key) })).status).toBe(422);
    expect((await second.send(step, 'Sign in', { code: codeFor(scene, key) })).leadsTo).toBe('/account/password');
    expect((await second.follow(second.open('/account'))).heading).toBe('Your account');

    const third = new PageVisitor(scene);
    await third.send(await third.open('/sign-in'), 'Sign in', { email, password: PASSWORD });
    const lost = await third.open('/sign-in/recovery-code');
    expect((await third.send(lost, 'Sign in', { code: 'nothing' })).forms[0]?.faults['code']).toBeDefined();
    expect((await third.send(lost, 'Sign in', { code: codes[0] ?? '' })).leadsTo).toBe('/account');
    const off = await third.follow(third.send(await third.open('/account/mfa'), 'Turn off', { code: codes[1] ?? '' }));
    expect(off.text).toContain('Two-factor authentication is off.');
  });

  it('is not requested before a password was given', async () => {
    const visitor = new PageVisitor(scene);
    for (const path of ['/sign-in/code', '/sign-in/recovery-code']) {
      expect((await visitor.open(path)).leadsTo).toBe('/sign-in');
      expect((await visitor.open(path, { body: 'code=000000' })).leadsTo).toBe('/sign-in?said=too-late');
    }
  });
});
