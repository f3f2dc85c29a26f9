// Apps read what is wrong with a domain, a webhook, an address or the team with scopes of their own, and change none of it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { contractOperations } from '../../rig/api.ts';
import { createOauth, type OauthApp } from '../../rig/oauth.ts';
import { createPeople, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook } from '../../rig/webhooks.ts';
import { sampleCall } from '../conventions/sample-calls.ts';

let scene: Scene;
let team: Team;
let oauth: ReturnType<typeof createOauth>;
let app: OauthApp;
let owner: Person;
let domain: string;
let webhook: string;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  oauth = createOauth(scene);
  app = await oauth.register();
  owner = await createPeople(scene).person({ team, role: 'owner' });
  domain = (await team.domain()).id;
  webhook = await plantWebhook(scene, team);
});
afterAll(() => scene.close());

const tokenFor = async (scope: string, limits: Record<string, string> = {}): Promise<string> =>
  (await oauth.letIn(owner, app, { scope }, limits)).access_token;
const call = (key: string, method: string, path: string, body?: object) =>
  scene.api(method, path, { key, ...(body === undefined ? {} : { body }) });

describe('the scopes of reading', () => {
  it.each([
    ['domains:read', () => ['/domains', `/domains/${domain}`, `/domains/${domain}/reports`]],
    ['webhooks:read', () => ['/webhooks', `/webhooks/${webhook}`, `/webhooks/${webhook}/events`]],
    ['suppressions:read', () => ['/suppressions']],
    ['usage:read', () => ['/usage']],
    ['findings:read', () => ['/findings']],
    ['inbound_rules:read', () => ['/inbound-rules']],
  ] as const)(
    'an app with %s alone reads these and nothing else, and a token without it is told the scope',
    async (scope, list) => {
      const token = await tokenFor(scope);
      const without = await tokenFor(SCOPE_NAMES.filter((name) => name !== scope).join(' '));
      for (const path of list()) {
        expect([path, (await call(token, 'GET', path)).status]).toEqual([path, 200]);
        const refused = await call(without, 'GET', path);
        expect([path, refused.status, refused.body.message]).toEqual([path, 403, expect.stringContaining(scope)]);
      }
      const others = contractOperations().filter(
        ({ method, operation }) =>
          method === 'get' &&
          operation['x-service-scope'] !== null &&
          ![scope, 'any'].includes(operation['x-service-scope']),
      );
      expect(others.length).toBeGreaterThan(20);
      for (const operation of others.slice(0, 20)) {
        expect([operation.operationId, (await call(token, 'GET', sampleCall(operation).path)).status]).toEqual([
          operation.operationId,
          403,
        ]);
      }
    },
  );

  it('a webhook that an app reads shows no more of its secret than the last four characters', async () => {
    const { text, body } = await call(await tokenFor('webhooks:read'), 'GET', `/webhooks/${webhook}`);
    const masked = Object.values(body).filter((value) => typeof value === 'string' && value.startsWith('whsec_'));
    for (const secret of masked) expect(secret).toMatch(/^whsec_[*•.…]+.{4}$/);
    expect(text).not.toMatch(/whsec_[\w+/=]{8}/);
  });

  it.each([
    ['POST', '/domains', { name: 'other.example.com' }],
    ['POST', '/webhooks', { endpoint: 'https://hooks.example.com/x', events: ['email.sent'] }],
    ['POST', '/inbound-rules', { pattern: '*@example.com', action: 'drop' }],
    ['POST', '/suppressions', { email: 'x@example.org' }],
  ] as const)('an app with every scope of reading cannot call %s %s', async (method, path, body) => {
    const token = await tokenFor(SCOPE_NAMES.filter((name) => name.endsWith(':read')).join(' '));
    expect((await call(token, method, path, body)).status).toBe(403);
  });
});

describe('the scope suppressions:write', () => {
  it('an app adds and removes suppressions, one by one and many at once', async () => {
    const token = await tokenFor('suppressions:read suppressions:write');
    expect((await call(token, 'POST', '/suppressions', { email: 'one@example.org' })).status).toBeLessThan(300);
    const two = await call(token, 'POST', '/suppressions/batch/add', {
      emails: ['two@example.org', 'three@example.org'],
    });
    expect(two.status).toBeLessThan(300);
    expect((await call(token, 'DELETE', '/suppressions/one@example.org')).status).toBe(200);
    const gone = await call(token, 'POST', '/suppressions/batch/remove', { emails: ['two@example.org'] });
    expect(gone.status).toBe(200);
    const { data } = (await call(token, 'GET', '/suppressions')).body;
    expect(data.map(({ email }: { email: string }) => email)).toEqual(['three@example.org']);
  });

  it('removing a suppression counts as sending, because mail of others reaches the address again; adding one does not', async () => {
    for (const [limits, refusal] of [
      [{ own_domains: 'yes' }, /limited by recipients/],
      [{ emails_per_day: '5' }, /limited by emails_per_day/],
      [{ approval: 'sends' }, /Nothing has been done yet/],
    ] as const) {
      const token = await tokenFor('suppressions:write', limits);
      expect((await call(token, 'POST', '/suppressions', { email: 'kept@example.org' })).status).toBeLessThan(300);
      for (const [method, path, body] of [
        ['DELETE', '/suppressions/kept@example.org', undefined],
        ['POST', '/suppressions/batch/remove', { emails: ['kept@example.org'] }],
      ] as const) {
        const refused = await call(token, method, path, body);
        expect([refused.status, refused.body.message]).toEqual([403, expect.stringMatching(refusal)]);
      }
    }
  });
});
