import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startApp } from '../../../src/app.ts';
import { notifyByMail } from '../../../src/features/identity/accounts/passwords.ts';
import { resetMfa } from '../../../src/features/identity/mfa/mfa.ts';
import { disableUser, enableUser } from '../../../src/tenancy/users/index.ts';
import { nodeFolder } from '../../rig/node-folder.ts';
import { driver } from '../../rig/database.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { Browser, enrolled, PASSWORD, createPerson, STEP_MS, wrongCode, type Enrolled } from './authenticator.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
});
beforeEach(() => scene.clock.advance(25 * 3_600_000));
afterAll(() => scene.close());

const MINUTE = 60_000;
const WRONG = { status: 422, body: { name: 'validation_error', message: expect.stringContaining('is wrong or was') } };
const ENDED = {
  status: 422,
  body: {
    name: 'validation_error',
    message: 'This challenge is not valid or has expired; sign in with your password again.',
  },
};

/** Opens a browser that has sent the password and is asked for a code. */
async function challenged({ email }: Pick<Enrolled, 'email'>, url?: string) {
  const browser = new Browser(scene, url);
  const answer = await browser.logIn(email);
  expect(answer.body.object, answer.text).toBe('mfa_challenge');
  const token = answer.body.challenge_token as string;
  return {
    browser,
    token,
    answer,
    verify: (code: string) => browser.call('POST', '/auth/mfa/verify', { challenge_token: token, code }),
    recover: (code: string) =>
      browser.call('POST', '/auth/mfa/recovery', { challenge_token: token, recovery_code: code }),
  };
}

/** Creates a person whose app shows an unused code. */
async function ready(): Promise<Enrolled> {
  const person = await enrolled(scene, team);
  scene.clock.advance(5 * STEP_MS);
  return person;
}

const isSignedIn = async (browser: Browser) => (await browser.call('GET', '/auth/session')).status === 200;

describe('signing in with a second factor', () => {
  it('returns a challenge after the password, and begins no session', async () => {
    const person = await ready();
    const { browser, answer } = await challenged(person);
    expect(answer.body).toEqual({
      object: 'mfa_challenge',
      challenge_token: expect.stringMatching(/^rmc_[\w-]{32}$/),
      expires_at: new Date(scene.clock.now() + 10 * MINUTE).toISOString(),
    });
    const form = /^rasket_challenge=[\w-]{32}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/;
    expect(answer.headers.getSetCookie()).toEqual([expect.stringMatching(form)]);
    expect(await isSignedIn(browser)).toBe(false);
    const rows = JSON.stringify(await scene.app.world.db.all('select * from mfa_challenges'));
    expect(rows).not.toContain(answer.body.challenge_token);
    expect(rows).not.toContain(browser.cookies.get('rasket_challenge'));
  });

  it('begins the session after a code, and ends the challenge', async () => {
    const person = await ready();
    const { browser, verify } = await challenged(person);
    expect(await verify(person.code())).toMatchObject({
      status: 200,
      body: { object: 'session', user: { id: person.id }, current_team: { id: team.id } },
    });
    expect([...browser.cookies.keys()]).toEqual(['rasket_session', 'rasket_browser']);
    expect(await isSignedIn(browser)).toBe(true);
    expect(await verify(person.code(1))).toMatchObject(ENDED);
    const { data } = (await scene.api('GET', '/audit?limit=1', { key: team.key })).body;
    expect(data).toMatchObject([
      { action: 'session.begun', actor: { id: person.id }, details: { second_factor: 'code' } },
    ]);
  });

  it('accepts each recovery code once', async () => {
    const person = await ready();
    const [first = '', second = ''] = person.recovery;
    const one = await challenged(person);
    expect((await one.recover(first)).body.object).toBe('session');
    const { data } = (await scene.api('GET', '/audit?limit=1', { key: team.key })).body;
    expect(data).toMatchObject([{ details: { second_factor: 'recovery_code' } }]);
    expect((await one.browser.call('GET', '/auth/mfa')).body.recovery_codes_remaining).toBe(9);
    const other = await challenged(person);
    expect(await other.recover(first)).toMatchObject(WRONG);
    expect((await other.recover(second.toUpperCase())).status).toBe(200);
  });

  it.each([-1, 0, 1])('accepts the code of a clock that is %i steps off', async (steps) => {
    const person = await ready();
    expect((await (await challenged(person)).verify(person.code(steps))).status).toBe(200);
  });

  it.each([-2, 2])('refuses a code that is %i steps off', async (steps) => {
    const person = await ready();
    expect(await (await challenged(person)).verify(person.code(steps))).toMatchObject(WRONG);
  });
});

describe('a second-factor code', () => {
  it('that was used is not accepted again, nor is that of the step before', async () => {
    const person = await ready();
    const used = person.code(1);
    expect((await (await challenged(person)).verify(used)).status).toBe(200);
    const { verify } = await challenged(person);
    for (const code of [used, person.code(0), person.code(-1)]) expect(await verify(code)).toMatchObject(WRONG);
    scene.clock.advance(STEP_MS);
    expect(await verify(person.code(0))).toMatchObject(WRONG);
    expect((await verify(person.code(1))).status).toBe(200);
  });

  it('that arrives many times at once begins one session', async () => {
    const person = await ready();
    const open = await Promise.all(Array.from({ length: 6 }, () => challenged(person)));
    const answers = await Promise.all(open.map(({ verify }) => verify(person.code())));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422, 422]);
  });

  it('for recovery that arrives many times at once begins one session', async () => {
    const person = await ready();
    const open = await Promise.all(Array.from({ length: 6 }, () => challenged(person)));
    const answers = await Promise.all(open.map(({ recover }) => recover(person.recovery[0] ?? '')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422, 422]);
  });

  it('and other right ones at once for one challenge begin one session', async () => {
    const person = await ready();
    const { recover } = await challenged(person);
    const answers = await Promise.all(person.recovery.slice(0, 4).map((code) => recover(code)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    // A code that began no session is not used up.
    const left = await person.browser.call('GET', '/auth/mfa');
    expect(left.body.recovery_codes_remaining).toBe(9);
  });

  // runs only on PostgreSQL: SQLite has one process.
  it.runIf(driver === 'pg')('that arrives at two nodes at once begins one session', async () => {
    const dataDir = nodeFolder(scene);
    const { config, log } = scene.app.world;
    const node = await startApp({ config, dataDir, clock: scene.clock, version: '0.0.0-test', log, roles: ['http'] });
    try {
      for (let round = 0; round < 10; round++) {
        const person = await ready();
        const open = [await challenged(person), await challenged(person, node.http?.url)];
        const [recovery = ''] = person.recovery;
        const answers = await Promise.all(
          open.map(({ verify, recover }) => (round % 2 === 0 ? verify(person.code()) : recover(recovery))),
        );
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
      }
    } finally {
      await node.close(0);
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

describe('a second-factor challenge', () => {
  it('can be answered only by the browser that got it', async () => {
    const person = await ready();
    const { browser, token, verify } = await challenged(person);
    const strange = new Browser(scene);
    const body = { challenge_token: token, code: person.code() };
    expect(await strange.call('POST', '/auth/mfa/verify', body)).toMatchObject(ENDED);
    strange.cookies.set('rasket_challenge', 'x'.repeat(32));
    expect(await strange.call('POST', '/auth/mfa/verify', body)).toMatchObject(ENDED);
    // This cookie is of another challenge of the same person.
    const other = await challenged(person);
    expect(await other.browser.call('POST', '/auth/mfa/verify', body)).toMatchObject(ENDED);
    // The cookie is sent twice, as if a neighboring host had set one.
    const kept = browser.cookies.get('rasket_challenge') ?? '';
    browser.cookies.set('rasket_challenge', `${kept}; rasket_challenge=${kept}`);
    expect(await verify(person.code())).toMatchObject(ENDED);
    browser.cookies.set('rasket_challenge', kept);
    expect((await verify(person.code())).status).toBe(200);
  });

  it('replaces planted cookies with new ones', async () => {
    const person = await ready();
    const theirs = await enrolled(scene, team);
    const browser = new Browser(scene);
    const planted = theirs.browser.cookies.get('rasket_session') ?? '';
    browser.cookies.set('rasket_session', planted).set('rasket_challenge', 'planted');
    const { body } = await browser.logIn(person.email);
    expect(browser.cookies.get('rasket_challenge')).not.toBe('planted');
    const answer = { challenge_token: body.challenge_token, code: person.code() };
    expect((await browser.call('POST', '/auth/mfa/verify', answer)).status).toBe(200);
    expect(browser.cookies.get('rasket_session')).not.toBe(planted);
    expect(await isSignedIn(theirs.browser)).toBe(false);
    expect((await browser.call('GET', '/auth/me')).body.id).toBe(person.id);
  });

  it('ends after five wrong codes, even for the right one', async () => {
    const person = await ready();
    const { verify, recover } = await challenged(person);
    for (let n = 0; n < 4; n++) expect(await verify(wrongCode(person))).toMatchObject(WRONG);
    expect(await recover('aaaa-aaaa-aaaa-aaaa')).toMatchObject(WRONG);
    expect(await verify(person.code())).toMatchObject(ENDED);
    expect((await (await challenged(person)).verify(person.code())).status).toBe(200);
  });

  it('checks at most five of many codes at once', async () => {
    const person = await ready();
    const { verify } = await challenged(person);
    const answers = await Promise.all(Array.from({ length: 12 }, () => verify(wrongCode(person))));
    expect(answers.filter(({ body }) => body.message !== ENDED.body.message)).toHaveLength(5);
  });

  it('expires after ten minutes and is then deleted', async () => {
    const person = await ready();
    const one = await challenged(person);
    const other = await challenged(person);
    scene.clock.advance(10 * MINUTE - 1);
    expect((await one.verify(person.code())).status).toBe(200);
    scene.clock.advance(1);
    expect(await other.recover(person.recovery[0] ?? '')).toMatchObject(ENDED);
    await scene.app.jobs.find(({ name }) => name === 'remove-expired-sessions')?.run();
    expect(await scene.app.world.db.all('select id from mfa_challenges')).toEqual([]);
  });

  it('ends with a new password, with a reset of the second factor, and with the account', async () => {
    const { db } = scene.app.world;
    const changed = await ready();
    const before = await challenged(changed);
    await db.run('update users set password_hash = ? where id = ?', [
      await scene.app.world.passwords.hash(PASSWORD),
      changed.id,
    ]);
    expect(await before.verify(changed.code())).toMatchObject(ENDED);

    const lost = await ready();
    const open = await challenged(lost);
    await resetMfa(scene.app.world, lost.email, notifyByMail);
    expect(await open.verify(lost.code())).toMatchObject(ENDED);
    expect(await isSignedIn(lost.browser)).toBe(false);
    expect((await new Browser(scene).logIn(lost.email)).body.object).toBe('session');

    const disabled = await ready();
    const last = await challenged(disabled);
    await disableUser(scene.app.world, disabled.email);
    expect(await last.verify(disabled.code())).toMatchObject(ENDED);
  });

  it.each([null, 'null', 'https://evil.example', 'http://127.0.0.1'])(
    'cannot be answered from a page at the origin %s',
    async (origin) => {
      const person = await ready();
      const { browser, verify, recover } = await challenged(person);
      browser.origin = origin;
      const refused = { status: 403, body: { name: 'invalid_permission' } };
      expect(await verify(person.code())).toMatchObject(refused);
      expect(await recover(person.recovery[0] ?? '')).toMatchObject(refused);
      browser.origin = scene.url;
      expect((await verify(person.code())).status).toBe(200);
    },
  );
});

describe('an attacker who knows the password', () => {
  it('has twenty guesses a day over all challenges, and a recovery code of the owner still works', async () => {
    const person = await ready();
    for (let round = 0; round < 4; round++) {
      const { verify } = await challenged(person);
      for (let n = 0; n < 5; n++) expect(await verify(wrongCode(person))).toMatchObject(WRONG);
    }
    const { verify } = await challenged(person);
    const stopped = await verify(person.code());
    expect(stopped).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } });
    expect(Number(stopped.headers.get('retry-after'))).toBe(24 * 3600);
    expect((await (await challenged(person)).recover(person.recovery[0] ?? '')).status).toBe(200);
    scene.clock.advance(24 * 3_600_000);
    expect((await (await challenged(person)).verify(person.code())).status).toBe(200);
  });

  it('has twenty guesses at recovery codes', async () => {
    const person = await ready();
    for (let n = 0; n < 20; n++) {
      expect(
        await (await challenged(person)).recover(`aaaa-aaaa-aaaa-aaa${'abcdefghijklmnopqrstuvwxyz'[n]}`),
      ).toMatchObject(WRONG);
    }
    expect((await (await challenged(person)).recover(person.recovery[0] ?? '')).status).toBe(429);
    expect((await (await challenged(person)).verify(person.code())).status).toBe(200);
  });

  it('cannot learn from a wrong password whether there is a second factor', async () => {
    const person = await ready();
    const without = await createPerson(scene, team);
    const answers = await Promise.all(
      [person.email, without.email, 'nobody@mfa.example'].map((email) => new Browser(scene).logIn(email, 'wrong')),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    for (const { headers } of answers) expect(headers.getSetCookie()).toEqual([]);
  });
});

describe('a disabled person', () => {
  it('cannot sign in, and every session ends at once for good', async () => {
    const { email } = await createPerson(scene, team);
    const browser = new Browser(scene);
    expect((await browser.logIn(email)).status).toBe(200);
    await disableUser(scene.app.world, email.toUpperCase());
    expect(await isSignedIn(browser)).toBe(false);
    const other = new Browser(scene);
    expect(await other.logIn(email)).toMatchObject({
      status: 403,
      body: { name: 'invalid_permission', message: 'This account is disabled; contact the operator of this service.' },
    });
    expect(await other.logIn(email, 'wrong')).toMatchObject({
      status: 422,
      body: { message: 'The email or the password is wrong.' },
    });
    expect(other.cookies.size).toBe(0);
    await expect(disableUser(scene.app.world, email)).rejects.toThrow(/already/);
    await enableUser(scene.app.world, email);
    expect(await isSignedIn(browser)).toBe(false);
    expect((await other.logIn(email)).status).toBe(200);
  });

  it('has no session, even if one began at the same moment', async () => {
    const { email, id } = await createPerson(scene, team);
    const browser = new Browser(scene);
    await browser.logIn(email);
    await scene.app.world.db.run('update users set disabled_at = ? where id = ?', [scene.clock.now(), id]);
    expect(await isSignedIn(browser)).toBe(false);
    await enableUser(scene.app.world, email);
    expect(await isSignedIn(browser)).toBe(false);
  });

  it('gets no challenge', async () => {
    const person = await ready();
    await disableUser(scene.app.world, person.email);
    const browser = new Browser(scene);
    expect((await browser.logIn(person.email)).status).toBe(403);
    expect(browser.cookies.size).toBe(0);
  });
});
