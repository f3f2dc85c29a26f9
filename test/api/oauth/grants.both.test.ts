import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerIn, newVerifier, createOauth, type OauthApp } from '../../rig/oauth.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let people: People;
let oauth: ReturnType<typeof createOauth>;
let app: OauthApp;
let owner: Person;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  people = createPeople(scene);
  oauth = createOauth(scene);
  app = await oauth.register();
  owner = await people.person({ team, role: 'owner' });
});
afterAll(() => scene.close());

const call = (token: string, method = 'GET', path = '/team', body?: unknown) =>
  scene.api(method, path, { key: token, ...(body === undefined ? {} : { body }) });
const NOT_VALID = { status: 401, body: { name: 'invalid_api_key' } };
const newestGrant = async (key = team.key) => (await scene.api('GET', '/oauth/grants', { key })).body.data[0];
const newestAudit = async () => (await scene.api('GET', '/audit', { key: team.key })).body.data[0];

describe('grants of apps', () => {
  it('are listed newest first, in pages, both active and revoked', async () => {
    for (let count = 0; count < 3; count++) await oauth.letIn(owner, app);
    const { body } = await scene.api('GET', '/oauth/grants?limit=2', { key: team.key });
    expect(body).toMatchObject({ object: 'list', has_more: true });
    const [first, second] = body.data;
    expect(first.created_at >= second.created_at).toBe(true);
    expect(first).toEqual({
      id: first.id,
      client_id: app.clientId,
      scopes: ['team:read'],
      created_at: first.created_at,
      revoked_at: null,
      revoked_reason: null,
      client: { name: 'Newsletter Desk', logo_uri: null },
      limits: {
        read_only: false,
        emails_per_day: null,
        recipients: 'any',
        approval: 'none',
        approval_above: 100,
        expires_at: null,
      },
    });
    const next = await scene.api('GET', `/oauth/grants?limit=1&after=${first.id}`, { key: team.key });
    expect(next.body.data[0].id).toBe(second.id);
    const other = await scene.team();
    expect((await scene.api('GET', '/oauth/grants', { key: other.key })).body.data).toEqual([]);
    expect((await scene.api('DELETE', `/oauth/grants/${first.id}`, { key: other.key })).status).toBe(404);
  });

  it('keep the name that the person saw, whatever the app calls itself later', async () => {
    const named = await oauth.register({ client_name: 'Honest App' });
    const verifier = newVerifier();
    const { visitor, page } = await oauth.asked(owner, named, verifier);
    const rename = async (client_name: string) =>
      scene.api('PUT', `/oauth/register/${named.clientId}`, {
        key: named.registrationToken,
        body: { client_name, redirect_uris: [named.redirectUri] },
      });
    expect((await rename('Payroll')).status).toBe(200);
    const answer = await visitor.send(page, 'Authorize');
    expect((await newestAudit()).details).toMatchObject({ client_name: 'Honest App' });
    expect((await oauth.exchange(named, answerIn(answer).get('code') ?? '', verifier)).status).toBe(200);
    expect((await rename('Your Bank')).status).toBe(200);
    expect((await newestGrant()).client.name).toBe('Honest App');
  });

  it('are revoked at once, and revoking again is harmless', async () => {
    const { access_token: token } = await oauth.letIn(owner, app);
    const { id } = await newestGrant();
    const revoked = await scene.api('DELETE', `/oauth/grants/${id}`, { key: team.key });
    expect(revoked).toMatchObject({ status: 200, body: { object: 'oauth_grant', id, revoked_reason: 'user' } });
    expect(await call(token)).toMatchObject(NOT_VALID);
    scene.clock.advance(1000);
    expect((await scene.api('DELETE', `/oauth/grants/${id}`, { key: team.key })).body).toEqual(revoked.body);
  });

  it('can be revoked by their person or an admin, and by no other member', async () => {
    const member = await people.person({ team });
    const admin = await people.person({ team, role: 'admin' });
    await oauth.letIn(owner, app);
    const { id } = await newestGrant();
    expect((await member.call('DELETE', `/oauth/grants/${id}`)).status).toBe(403);
    expect((await admin.call('DELETE', `/oauth/grants/${id}`)).status).toBe(200);
    await oauth.letIn(member, app);
    expect((await member.call('DELETE', `/oauth/grants/${(await newestGrant()).id}`)).status).toBe(200);
  });
});
