import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contractOperations } from '../../rig/api.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook } from '../../rig/webhooks.ts';
import { labelOf } from '../conventions/sample-calls.ts';

let scene: Scene;
let team: Team;
let operator: string;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  operator = await scene.operator('Grace');
});
afterAll(() => scene.close());

type Entry = {
  id: string;
  action: string;
  subject_id: string | null;
  team_id: string | null;
  actor: { kind: string; id: string | null; name: string | null };
  details: Record<string, unknown> | null;
  [more: string]: unknown;
};
const entries = async (path = '/audit', key = team.key): Promise<Entry[]> =>
  (await scene.api('GET', `${path}?limit=100`, { key })).body.data;

const audited = contractOperations().filter(({ operation }) => operation['x-service-audit'] !== undefined);

/** How each is called so that it changes something; answers the id that the entry has to name. */
const changes: Record<
  string,
  () => Promise<{ path: string; body?: Record<string, unknown>; subject?: string | null; removes?: object }>
> = {
  createApiKey: async () => ({ path: '/api-keys', body: { name: 'Billing', permission: 'sending_access' } }),
  updateApiKey: async () => ({ path: `/api-keys/${await newKey()}`, body: { name: 'Other' } }),
  deleteApiKey: async () => ({ path: `/api-keys/${await newKey()}`, removes: { name: 'Old' } }),
  createDomain: async () => ({ path: '/domains', body: { name: 'made.example.com' } }),
  updateDomain: async () => ({
    path: `/domains/${await newDomain()}`,
    body: { open_tracking: true, tracking_subdomain: 'links' },
  }),
  deleteDomain: async () => ({
    path: `/domains/${await newDomain()}`,
    removes: { name: `audit${domains}.example.com` },
  }),
  regenerateDkim: async () => ({ path: `/domains/${await newDomain()}/dkim/regenerate`, body: { key_bits: 2048 } }),
  rotateDkim: async () => ({ path: `/domains/${(await team.domain()).id}/dkim/rotate` }),
  updateTeam: async () => ({ path: '/team', body: { ai_assist_enabled: true }, subject: team.id }),
  updateWebhook: async () => ({ path: `/webhooks/${await plantWebhook(scene, team)}`, body: { status: 'disabled' } }),
  deleteWebhook: async () => ({
    path: `/webhooks/${await plantWebhook(scene, team)}`,
    removes: { endpoint: expect.stringMatching(/^https:/) as string },
  }),
  rotateWebhookSecret: async () => ({ path: `/webhooks/${await plantWebhook(scene, team)}/rotate-secret` }),
  rotateWebhookSigningSecret: async () => ({
    path: `/webhooks/${await plantWebhook(scene, team)}/signing-secret/rotate`,
  }),
  createQueueHold: async () => ({
    path: '/operator/queue/holds',
    body: { team_id: (await scene.team()).id, reason: 'x' },
  }),
  releaseQueueHold: async () => {
    const body = { destination: 'released.example', reason: 'x' };
    const { id } = (await scene.api('POST', '/operator/queue/holds', { key: operator, body })).body;
    return { path: `/operator/queue/holds/${id}` };
  },
  retryQueue: async () => ({ path: '/operator/queue/retry', body: { email_id: await tried() }, subject: null }),
  dropQueue: async () => ({
    path: '/operator/queue/drop',
    body: { email_id: await tried(), reason: 'x' },
    subject: null,
  }),
};
/** They need name servers, providers, endpoints that answer or a file; their mechanism is the same. */
const elsewhere = ['claimDomain', 'configureDomainDns', 'createContactImport', 'createWebhook'];

const newKey = async () =>
  (await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Old' } })).body.id as string;
let domains = 0;
const newDomain = async () =>
  (await scene.api('POST', '/domains', { key: team.key, body: { name: `audit${++domains}.example.com` } })).body
    .id as string;
async function tried(): Promise<string> {
  const domain = await team.domain();
  const body = { from: `a@${domain.name}`, to: 'tempfail@tried.example', subject: 'x', text: 'x' };
  const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
  await scene.settled();
  return id as string;
}

describe('every change that the contract says is audited', () => {
  it('is made here, or named as made elsewhere', () => {
    expect([...Object.keys(changes), ...elsewhere].sort()).toEqual(
      audited.map(({ operationId }) => operationId).sort(),
    );
  });

  it.each(audited.filter(({ operationId }) => operationId in changes).map((one) => [labelOf(one), one] as const))(
    '%s has one entry, in the words of the contract',
    async (_, { operationId, method, operation }) => {
      const { path, body, subject, removes = null } = (await changes[operationId]?.()) ?? { path: '' };
      const before = (await entries('/operator/audit', operator)).length;
      const isOperators = path.startsWith('/operator');
      const key = isOperators ? operator : team.key;
      const answer = await scene.api(method.toUpperCase(), path, { key, body });
      expect(answer.status, answer.text).toBeLessThan(300);
      const all = await entries('/operator/audit', operator);
      expect(all.length - before).toBe(1);
      const wanted = subject === undefined ? answer.body.id : subject;
      expect(all[0]).toMatchObject({
        action: operation['x-service-audit'],
        subject_id: wanted,
        team_id: isOperators ? null : team.id,
        actor: isOperators ? { kind: 'operator', name: 'Grace' } : { kind: 'api_key' },
        address: '127.0.0.1',
        request_id: answer.headers.get('x-request-id'),
        details: body && Object.keys(body).length > 0 ? body : removes,
      });
      const own = await entries();
      if (isOperators) expect(own.map(({ id }) => id)).not.toContain(all[0]?.id);
      else expect(own[0]).toEqual(all[0]);
      // The same, refused, changes nothing and is not told of.
      const refused = await scene.api(method.toUpperCase(), path, { key, body: { nonsense: 1 } });
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect((await entries('/operator/audit', operator)).length - before).toBe(1);
    },
  );

  it('no other operation of keys, domains, webhooks or the team changes anything', () => {
    const families = ['api-keys', 'domains', 'domain-claims', 'dns', 'webhooks', 'teams', 'queue'];
    const changing = contractOperations().filter(
      ({ method, operation }) => method !== 'get' && families.includes(operation.tags[0] ?? ''),
    );
    // A look at DNS, and the same event once more.
    const harmless = ['verifyDomain', 'verifyDomainClaim', 'replayWebhookEvent', 'triggerWebhook'];
    const silent = changing.filter(({ operation }) => operation['x-service-audit'] === undefined);
    expect(silent.map(({ operationId }) => operationId).filter((id) => !harmless.includes(id))).toEqual([]);
  });
});

describe('an entry', () => {
  it('names the key as it was called, and holds no secret', async () => {
    const name = 'Deploy';
    const made = await scene.api('POST', '/api-keys', { key: team.key, body: { name } });
    await scene.api('POST', '/api-keys', {
      key: made.body.token,
      body: { name: 'rk_4fGh2kLmN8pQrStUvWxYz0-_4fGh2kLm' },
    });
    await scene.api('PATCH', `/api-keys/${made.body.id}`, { key: team.key, body: { name: 'Renamed' } });
    const [, second, first] = await entries();
    expect(second).toMatchObject({
      actor: { kind: 'api_key', id: made.body.id, name },
      details: { name: '[redacted]' },
    });
    expect(JSON.stringify(await entries())).not.toContain(made.body.token);
    expect(first?.subject_id).toBe(made.body.id);
  });

  it('stands if and only if its change does', async () => {
    const { db } = scene.app.world;
    const before = (await entries()).length;
    // The entry cannot be written, so that the change is not made.
    await db.withKnex(async (knex) => {
      await knex.raw('alter table audit_log rename to audit_log_away');
    });
    const id = await db.get<{ id: string }>('select id from api_keys where team_id = ? order by id desc', [team.id]);
    const failed = await scene.api('DELETE', `/api-keys/${id?.id}`, { key: team.key });
    await db.withKnex(async (knex) => {
      await knex.raw('alter table audit_log_away rename to audit_log');
    });
    expect(failed.status).toBe(500);
    expect(await db.get('select status from api_keys where id = ?', [id?.id ?? ''])).toEqual({ status: 'active' });
    expect(await entries()).toHaveLength(before);
  });

  it('is never written over, and is removed by its age alone', async () => {
    const { world } = scene.app;
    await expect(world.db.run("update audit_log set action = 'nothing'")).rejects.toThrow(/append-only/);
    const all = await entries();
    const job = scene.app.jobs.find(({ name }) => name === 'remove-old-audit');
    scene.clock.advance((world.config.audit.retention_days - 1) * 86_400_000);
    await job?.run();
    expect(await entries()).toHaveLength(all.length);
    await newKey();
    scene.clock.advance(2 * 86_400_000);
    await job?.run();
    expect(await entries()).toHaveLength(1);
  });
});
