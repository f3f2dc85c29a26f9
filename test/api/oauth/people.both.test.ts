// The rights of an app depend on the person it acts for: their mail, and the single sign-on of their team.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopEnforcingSso } from '../../../src/features/identity/sso/sso-connection.ts';
import { mailsTo, subjectsTo } from '../../rig/mailbox.ts';
import { newVerifier, createOauth, type OauthApp, type Tokens } from '../../rig/oauth.ts';
import { createPeople, type People } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { startStandInProvider, type StandInProvider } from '../../rig/stand-in-provider.ts';

let scene: Scene;
let people: People;
let oauth: ReturnType<typeof createOauth>;
let app: OauthApp;
let provider: StandInProvider;
beforeAll(async () => {
  scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'] } } });
  provider = await startStandInProvider(() => scene.clock.now());
  people = createPeople(scene);
  oauth = createOauth(scene);
  app = await oauth.register();
  await (await scene.team()).domain();
});
afterAll(async () => {
  await provider.close();
  await scene.close();
});

const SHUT_OUT = 'The access of an app was revoked';
const fetchStatus = async (key: string): Promise<number> => (await scene.api('GET', '/team', { key })).status;

describe('an app that uses a single-use token twice', () => {
  it('is reported to the person in one mail, even if it does so repeatedly and at once', async () => {
    const owner = await people.person({ team: await scene.team(), role: 'owner' });
    const other = await people.person({ team: await scene.team(), role: 'owner' });
    const first = await oauth.letIn(owner, app);
    await oauth.letIn(other, app);
    expect((await oauth.refresh(app, first.refresh_token)).status).toBe(200);
    // The row is made older instead of moving the clock, which would fire every timer.
    await scene.app.world.db.run('update oauth_grants set refreshed_at = refreshed_at - 10000');
    const again = () => oauth.refresh(app, first.refresh_token);
    const reused = await Promise.all([again(), again(), again()]);
    reused.push(await again());
    expect(reused.map(({ body }) => body.error)).toEqual(Array(4).fill('invalid_grant'));
    await scene.settled();
    expect(subjectsTo(scene, owner.email)).toEqual([SHUT_OUT]);
    const mail = mailsTo(scene, owner.email).join('');
    expect(mail).toContain('from the IP address 127.0.0.1');
    expect(mail).toContain('rasket oauth-grants list');
    expect(mail).not.toContain(first.refresh_token);
    expect(subjectsTo(scene, other.email)).toEqual([]);
  });

  it('is reported for an authorization code too', async () => {
    const owner = await people.person({ team: await scene.team(), role: 'owner' });
    const verifier = newVerifier();
    const code = await oauth.codeFor(owner, app, verifier);
    const exchange = async () => (await oauth.exchange(app, code, verifier)).status;
    expect([await exchange(), await exchange(), await exchange()]).toEqual([200, 400, 400]);
    await scene.settled();
    expect(subjectsTo(scene, owner.email)).toEqual([SHUT_OUT]);
  });
});

describe('a team that begins to enforce single sign-on', () => {
  async function enforcedTeam() {
    const { db, ids, clock } = scene.app.world;
    const team = await scene.team();
    const owner = await people.person({ team, role: 'owner' });
    const given = { issuer: provider.issuer, client_id: 'rasket', client_secret: 'secret' };
    expect((await owner.call('PUT', `/teams/${team.id}/sso`, given)).status).toBe(200);
    const exempt = { sso_exempt: true };
    expect((await owner.call('PATCH', `/teams/${team.id}/members/${owner.memberId}`, exempt)).status).toBe(200);
    const connection = await db.get<{ id: string }>('select id from sso_connections where team_id = ?', [team.id]);
    /** Writes what a sign-in through the provider writes, or with null the removal of a member. */
    const know = ({ userId }: { userId: string }, subject: string | null) =>
      db.insertMany(
        'sso_identities',
        ['id', 'connection_id', 'user_id', 'subject', 'created_at'],
        [[ids.uuid(), connection?.id ?? '', userId, subject, clock.now()]],
      );
    const enforce = () => db.run('update sso_connections set enforced = 1 where team_id = ?', [team.id]);
    return { team, owner, know, enforce };
  }

  it('keeps the apps of exempt people and of those who signed in through its provider, and of nobody else', async () => {
    const { team, owner, know, enforce } = await enforcedTeam();
    const [known, stranger, returned] = await Promise.all([1, 2, 3].map(() => people.person({ team, role: 'member' })));
    if (!known || !stranger || !returned) throw new Error('three people were made');
    await know(known, 'subject 1');
    await know(returned, null);
    const tokens: Tokens[] = [];
    for (const person of [owner, known, stranger, returned]) tokens.push(await oauth.letIn(person, app));
    const verifier = newVerifier();
    const code = await oauth.codeFor(stranger, app, verifier);
    const states = () => Promise.all(tokens.map(({ access_token: key }) => fetchStatus(key)));
    expect(await states()).toEqual([200, 200, 200, 200]);
    await enforce();
    expect(await states()).toEqual([200, 200, 401, 401]);
    const refresh = async (at: number) => oauth.refresh(app, tokens[at]?.refresh_token ?? '');
    expect((await refresh(2)).body).toMatchObject({
      error: 'invalid_grant',
      error_description: expect.stringContaining('single sign-on') as string,
    });
    expect((await oauth.exchange(app, code, verifier)).body.error).toBe('invalid_grant');
    expect([(await refresh(0)).status, (await refresh(1)).status]).toEqual([200, 200]);
    // Nothing was used up: the token works again once the person has signed in.
    await know(stranger, 'subject 2');
    expect((await states())[2]).toBe(200);
    expect((await refresh(2)).status).toBe(200);
    expect((await oauth.exchange(app, code, verifier)).status).toBe(200);
  });

  it('lets all apps work again when it stops', async () => {
    const { team, enforce } = await enforcedTeam();
    const member = await people.person({ team, role: 'member' });
    const { access_token: key } = await oauth.letIn(member, app);
    await enforce();
    expect(await fetchStatus(key)).toBe(401);
    await stopEnforcingSso(scene.app.world, team.id);
    expect(await fetchStatus(key)).toBe(200);
  });
});
