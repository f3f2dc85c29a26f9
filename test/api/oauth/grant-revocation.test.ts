// a person whose sign-in changes --> what apps may do for them
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notifyByMail } from '../../../src/features/identity/accounts/passwords.ts';
import { resetMfa } from '../../../src/features/identity/mfa/mfa.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { createOauth, type OauthApp } from '../../rig/oauth.ts';
import { codeFor } from '../../rig/page-people.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let people: People;
let oauth: ReturnType<typeof createOauth>;
let app: OauthApp;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  people = createPeople(scene);
  oauth = createOauth(scene);
  app = await oauth.register();
});
afterAll(() => scene.close());

const call = (token: string) => scene.api('GET', '/team', { key: token });
const NOT_VALID = { status: 401, body: { name: 'invalid_api_key' } };
const newestGrant = async () => (await scene.api('GET', '/oauth/grants', { key: team.key })).body.data[0];

describe('a grant of an app', () => {
  /** Switches the second factor on, and returns the answer to the last step. */
  async function switchOn(person: Person): Promise<ApiAnswer> {
    const { secret } = (await person.call('POST', '/auth/mfa/enrol')).body;
    const code = codeFor(scene, secret);
    return person.call('POST', '/auth/mfa/confirm', { code });
  }

  it.each<[string, (person: Person) => Promise<unknown>, string]>([
    ['changes the password', (person) => person.call('POST', '/auth/password', { password: 'a new password' }), 'user'],
    ['signs out everywhere', (person) => person.call('POST', '/auth/logout', { all: true }), 'user'],
    ['switches the second factor on', switchOn, 'user'],
    [
      'loses the second factor by the operator',
      async ({ userId, email }) => {
        await scene.app.world.db.run('update users set mfa_enabled_at = 1 where id = ?', [userId]);
        return resetMfa(scene.app.world, email, notifyByMail);
      },
      'operator',
    ],
  ])('ends when its person %s', async (_what, act, reason) => {
    const person = await people.person({ team, role: 'owner' });
    const tokens = await oauth.letIn(person, app);
    const done = await act(person);
    expect(done).toMatchObject(reason === 'operator' ? { mfa_enabled_at: null } : { status: 200 });
    expect(await call(tokens.access_token)).toMatchObject(NOT_VALID);
    expect((await oauth.refresh(app, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await newestGrant()).revoked_reason).toBe(reason);
  });

  it('stays when its person signs out in one place', async () => {
    const person = await people.person({ team, role: 'owner' });
    const tokens = await oauth.letIn(person, app);
    expect((await person.call('POST', '/auth/logout', {})).status).toBe(200);
    expect((await call(tokens.access_token)).status).toBe(200);
  });
});
