// The operator sees every registered app, and can disable one in every team at once.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApi } from '../../rig/api.ts';
import { newVerifier, createOauth, type OauthApp } from '../../rig/oauth.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { startSecondPort } from '../../rig/second-port.ts';

let scene: Scene;
let oauth: ReturnType<typeof createOauth>;
let operator: string;
beforeAll(async () => {
  scene = await startScene();
  oauth = createOauth(scene);
  operator = await scene.operator('Grace');
});
afterAll(() => scene.close());

const createOwner = (team: Team) => createPeople(scene).person({ team, role: 'owner' });
const ask = (method: string, path: string, body?: object) =>
  scene.api(method, `/operator/oauth-clients${path}`, { key: operator, ...(body && { body }) });
const listed = async (query: string): Promise<{ id: string; client_id: string; [more: string]: unknown }[]> =>
  (await ask('GET', `?limit=100&${query}`)).body.data;
const fetchId = async ({ clientId }: OauthApp) => (await listed(`search=${clientId}`))[0]?.id ?? '';
const disable = async (app: OauthApp, reason = 'Pretends to be another app') =>
  ask('POST', `/${await fetchId(app)}/disable`, { reason });
const DISABLED = 'The operator of this service has disabled this app.';

describe('a disabled app', () => {
  it('is refused with its tokens, on every node, from that moment on', async () => {
    const one = await scene.team();
    const other = await scene.team();
    const app = await oauth.register({ client_name: 'Look-alike' });
    const held = [await oauth.letIn(await createOwner(one), app), await oauth.letIn(await createOwner(other), app)];
    const port = await startSecondPort(scene, {});
    try {
      const apis = [scene.api, createApi(`http://127.0.0.1:${port.port}`)];
      const statuses = () =>
        Promise.all(
          held.flatMap(({ access_token: key }) => apis.map(async (api) => (await api('GET', '/team', { key })).status)),
        );
      expect(await statuses()).toEqual([200, 200, 200, 200]);
      expect(await disable(app)).toMatchObject({
        status: 200,
        body: { live_grants: 0, disabled_by: 'Grace', disabled_reason: 'Pretends to be another app' },
      });
      expect(await statuses()).toEqual([401, 401, 401, 401]);
    } finally {
      await port.close(0);
    }
    const refreshed = await oauth.refresh(app, held[0]?.refresh_token ?? '');
    expect(refreshed).toMatchObject({
      status: 400,
      body: { error: 'unauthorized_client', error_description: DISABLED },
    });
    for (const team of [one, other]) {
      const { body: grants } = await scene.api('GET', '/oauth/grants', { key: team.key });
      expect(grants.data).toMatchObject([{ revoked_reason: 'operator' }]);
      const { body: audit } = await scene.api('GET', '/audit', { key: team.key });
      expect(audit.data[0]).toMatchObject({
        action: 'oauth_grant.revoked',
        subject_id: grants.data[0].id,
        actor: { kind: 'operator', name: 'Grace' },
        details: { client_name: 'Look-alike', revoked_reason: 'operator' },
      });
    }
    const { body: whole } = await scene.api('GET', '/operator/audit', { key: operator });
    const entry = whole.data.find(({ action }: { action: string }) => action === 'oauth_client.disabled');
    expect(entry).toMatchObject({
      subject_id: await fetchId(app),
      details: { client_name: 'Look-alike', reason: 'Pretends to be another app' },
    });
  });

  it('gets no consent page, and no browser is redirected to it', async () => {
    const owner = await createOwner(await scene.team());
    const app = await oauth.register();
    const { visitor, page } = await oauth.asked(owner, app, newVerifier());
    const fresh = await oauth.asked(owner, app, newVerifier());
    expect((await disable(app)).status).toBe(200);
    const answered = await visitor.send(page, 'Authorize');
    expect(answered).toMatchObject({ leadsTo: undefined });
    expect(answered.status).toBeGreaterThanOrEqual(400);
    const opened = await fresh.visitor.follow(
      fresh.visitor.open(`/oauth/authorize?${oauth.queryOf(app, newVerifier())}`),
    );
    expect(opened).toMatchObject({ status: 400, leadsTo: undefined });
    expect(opened.text).toContain(DISABLED);
  });

  it('gets nothing for an earlier code, even once it is enabled', async () => {
    const owner = await createOwner(await scene.team());
    const app = await oauth.register();
    const verifier = newVerifier();
    const code = await oauth.codeFor(owner, app, verifier);
    await disable(app);
    expect((await oauth.exchange(app, code, verifier)).body.error).toBe('unauthorized_client');
    await ask('POST', `/${await fetchId(app)}/enable`);
    expect((await oauth.exchange(app, code, verifier)).body.error).toBe('invalid_grant');
  });

  it('loses tokens that a code gives at the same moment', async () => {
    const owner = await createOwner(await scene.team());
    const app = await oauth.register();
    const id = await fetchId(app);
    const verifier = newVerifier();
    const code = await oauth.codeFor(owner, app, verifier);
    const [exchanged] = await Promise.all([
      oauth.exchange(app, code, verifier),
      ask('POST', `/${id}/disable`, { reason: 'x' }),
    ]);
    await ask('POST', `/${id}/enable`);
    if (exchanged.status === 200) {
      expect((await scene.api('GET', '/team', { key: exchanged.body.access_token })).status).toBe(401);
    } else expect(exchanged.body.error).toMatch(/^(?:unauthorized_client|invalid_grant)$/);
  });

  it('may ask again once it is enabled; ended grants stay ended', async () => {
    const owner = await createOwner(await scene.team());
    const app = await oauth.register();
    const before = await oauth.letIn(owner, app);
    const id = await fetchId(app);
    await disable(app, 'first');
    expect((await disable(app, 'second')).body).toMatchObject({ disabled_reason: 'first' });
    const enabled = { disabled_at: null, disabled_reason: null, disabled_by: null, live_grants: 0 };
    expect((await ask('POST', `/${id}/enable`)).body).toMatchObject(enabled);
    expect((await ask('POST', `/${id}/enable`)).body).toMatchObject(enabled);
    expect((await scene.api('GET', '/team', { key: before.access_token })).status).toBe(401);
    expect((await oauth.refresh(app, before.refresh_token)).body.error).toBe('invalid_grant');
    const after = await oauth.letIn(owner, app);
    expect((await scene.api('GET', '/team', { key: after.access_token })).status).toBe(200);
  });
});

describe('the list of OAuth clients', () => {
  it('can be searched by name, id and redirect address, in any letter case, and by state', async () => {
    await using own = await startScene({ roles: ['http'] });
    const there = createOauth(own);
    const key = await own.operator();
    const names = ['Ümlaut Mailer', 'Newsletter Desk', 'Other'];
    for (const [at, name] of names.entries()) {
      await there.register({ client_name: name, redirect_uris: [`https://app${at}.example.com/cb`] });
    }
    const found = async (query: string) =>
      (await own.api('GET', `/operator/oauth-clients?${query}`, { key })).body.data.map(
        (client: { client_name: string }) => client.client_name,
      );
    expect(await found('')).toEqual([...names].reverse());
    expect(await found('search=%C3%BCMLAUT')).toEqual(['Ümlaut Mailer']);
    expect(await found('search=app1.example')).toEqual(['Newsletter Desk']);
    const first = (await own.api('GET', '/operator/oauth-clients?limit=1&search=example', { key })).body;
    expect(first).toMatchObject({ has_more: true, data: [{ client_name: 'Other', live_grants: 0, used_at: null }] });
    expect(await found(`limit=1&search=example&after=${first.data[0].id}`)).toEqual(['Newsletter Desk']);
    const last = (await own.api('GET', `/operator/oauth-clients?search=mailer`, { key })).body.data[0].id;
    expect(await found(`limit=1&search=example&before=${last}`)).toEqual(['Newsletter Desk']);
    await own.api('POST', `/operator/oauth-clients/${last}/disable`, { key, body: { reason: 'x' } });
    expect(await found('state=disabled')).toEqual(['Ümlaut Mailer']);
    expect(await found('state=enabled&search=m')).toEqual(['Other', 'Newsletter Desk']);
  });

  it.each([
    ['POST', '/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05/disable', { reason: 'x' }, 404, 'Client not found'],
    ['POST', '/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05/enable', undefined, 404, 'Client not found'],
    ['POST', '/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05/disable', { reason: 'a\nb' }, 400, 'reason must be one line'],
    ['POST', '/rkoc_x/disable', { reason: 'x' }, 422, 'oauth_client_id must be a UUID'],
    ['GET', '?state=gone', undefined, 422, 'state must be enabled or disabled'],
    ['GET', '?search=%20', undefined, 422, 'search must be 1 to 200'],
  ])('%s %s with %j is refused', async (method, path, body, status, says) => {
    const answer = await ask(method, path, body);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(says);
  });
});

it('the registration that a client can read does not show that it is disabled', async () => {
  const app = await oauth.register();
  await disable(app);
  const { body } = await scene.api('GET', `/oauth/register/${app.clientId}`, { key: app.registrationToken });
  expect(Object.keys(body).filter((name) => name.startsWith('disabled') || name === 'id')).toEqual([]);
});
