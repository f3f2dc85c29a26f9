import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { audited, describeActor } from '../../../src/tenancy/audit/index.ts';
import { keepWanted } from '../../../src/features/installation/certificates/certificates.ts';
import { contractOperations } from '../../rig/api.ts';
import { evaluate, recordOutcomes } from '../../flow/breakers-desk.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { createInbox } from '../../rig/inboxes.ts';
import { createReceivingDomain } from '../../rig/mx.ts';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople } from '../../rig/people.ts';
import { buildPng } from '../../rig/pictures.ts';
import { receiveMail } from '../../rig/received-mail.ts';
import { plantWebhook } from '../../rig/webhooks.ts';
import { isOfPeople, formatLabel } from '../conventions/sample-calls.ts';
import { unaudited } from './unaudited.ts';

let scene: Scene;
let team: Team;
let operator: string;
beforeAll(async () => {
  // The authority is not contacted: there is no scheduler here.
  const acme = { directory: 'https://ca.test/dir', agree_to_terms: true };
  scene = await startScene({
    config: {
      acme,
      sources: { fresh: { source_v4: '127.0.8.1' } },
      pools: { apart: { sources: ['fresh'], domains: ['apart.example'] } },
    },
  });
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
/** Returns all entries, newest first. */
async function entries(path = '/audit', key = team.key): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let after = ''; ;) {
    const { data, has_more: hasMore } = (await scene.api('GET', `${path}?limit=100${after}`, { key })).body;
    all.push(...(data as Entry[]));
    if (!hasMore) return all;
    after = `&after=${all.at(-1)?.id}`;
  }
}

/** These are calls with a key; changes by people are covered by the tests of teams, members and invitations. */
const auditedOperations = contractOperations().filter(
  (called) => called.operation['x-service-audit'] !== undefined && !isOfPeople(called),
);

/** How each is called so that it changes something; returns the id that the entry must name. */
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
  rotateDkim: async () => {
    const { id, name } = await team.domain();
    return { path: `/domains/${id}/dkim/rotate`, removes: { name } };
  },
  archiveBroadcast: async () => ({ path: `/broadcasts/${await newBroadcast({})}/archive` }),
  unarchiveBroadcast: async () => ({ path: `/broadcasts/${await newBroadcast({ archive: true })}/archive` }),
  renewArchive: async () => ({
    path: '/team/archive/renew',
    subject: team.id,
    removes: { name: expect.stringMatching(/^Team /) as string },
  }),
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
  createInboundRule: async () => ({
    path: '/inbound-rules',
    body: { pattern: `ceo@${await ownDomain()}`, action: 'forward', forward_to: ['a@elsewhere.example'] },
  }),
  updateInboundRule: async () => ({ path: `/inbound-rules/${await newRule()}`, body: { action: 'webhook_only' } }),
  deleteInboundRule: async () => ({
    path: `/inbound-rules/${await newRule()}`,
    removes: { pattern: expect.stringMatching(/^box\d+@/) as string, action: 'drop', forward_to: '[]' },
  }),
  createInbox: async () => ({
    path: '/inboxes',
    body: { email_address: `audited@${(await createReceivingDomain(scene, team)).name}` },
  }),
  updateInbox: async () => {
    const { id } = await createInbox(scene, team);
    return { path: `/inboxes/${id}`, body: { name: 'Support' } };
  },
  deleteInbox: async () => {
    const { id, address } = await createInbox(scene, team);
    return { path: `/inboxes/${id}`, removes: { address } };
  },
  createInboxLabel: async () => ({
    path: `/inboxes/${(await createInbox(scene, team)).id}/labels`,
    body: { name: 'Urgent' },
  }),
  updateInboxLabel: async () => {
    const { id, label } = await newLabel();
    return { path: `/inboxes/${id}/labels/${label}`, body: { name: 'Later' } };
  },
  deleteInboxLabel: async () => {
    const { id, label } = await newLabel();
    return { path: `/inboxes/${id}/labels/${label}`, removes: { name: 'Old' } };
  },
  updateInboxAgent: async () => {
    const { id } = await createInbox(scene, team);
    return { path: `/inboxes/${id}/agent`, body: { tone: null } };
  },
  deleteInboxThread: async () => {
    const { id, receive, threads } = await createInbox(scene, team);
    await receive({ subject: 'Gone' });
    const [thread] = await threads();
    const removes = { subject: 'Gone', sender: 'Ada Lovelace <ada@example.org>' };
    return { path: `/inboxes/${id}/threads/${thread?.id}`, removes };
  },
  createTemplate: async () => ({ path: '/templates', body: { name: 'Receipt', html: '<p>x</p>' } }),
  updateTemplate: async () => ({ path: `/templates/${await newTemplate()}`, body: { name: 'Bill' } }),
  deleteTemplate: async () => ({ path: `/templates/${await newTemplate()}`, removes: { name: 'Receipt' } }),
  publishTemplate: async () => ({ path: `/templates/${await newTemplate()}/publish` }),
  duplicateTemplate: async () => {
    const id = await newTemplate();
    return { path: `/templates/${id}/duplicate`, subject: id };
  },
  createContactProperty: async () => ({ path: '/contact-properties', body: { key: 'city', type: 'string' } }),
  updateContactProperty: async () => ({
    path: `/contact-properties/${await newProperty()}`,
    body: { fallback_value: 'x' },
  }),
  deleteContactProperty: async () => ({
    path: `/contact-properties/${await newProperty()}`,
    removes: { key: `key_${made}` },
  }),
  createBroadcast: async () => ({
    path: '/broadcasts',
    body: { from: `News <news@${await ownDomain()}>`, subject: 'News' },
  }),
  updateBroadcast: async () => ({ path: `/broadcasts/${await newBroadcast()}`, body: { subject: 'Other news' } }),
  deleteBroadcast: async () => ({ path: `/broadcasts/${await newBroadcast()}`, removes: { name: 'News' } }),
  sendBroadcast: async () => ({
    path: `/broadcasts/${await newBroadcast()}/send`,
    body: { scheduled_at: 'in 2 hours' },
  }),
  cancelBroadcast: async () => ({
    path: `/broadcasts/${await newBroadcast({ send: true, scheduled_at: 'in 1 hour' })}/cancel`,
  }),
  pauseBroadcast: async () => ({
    path: `/broadcasts/${await newBroadcast({ send: true, scheduled_at: 'in 1 hour' })}/pause`,
  }),
  resumeBroadcast: async () => {
    const id = await newBroadcast({ send: true, scheduled_at: 'in 1 hour' });
    await scene.api('POST', `/broadcasts/${id}/pause`, { key: team.key });
    return { path: `/broadcasts/${id}/resume` };
  },
  duplicateBroadcast: async () => {
    const id = await newBroadcast();
    return { path: `/broadcasts/${id}/duplicate`, subject: id };
  },
  createEvent: async () => ({ path: '/events', body: { name: 'order.placed' } }),
  updateEvent: async () => ({ path: `/events/${await newEvent()}`, body: { schema: { total: 'number' } } }),
  deleteEvent: async () => ({ path: `/events/${await newEvent()}`, removes: { name: `event${made}` } }),
  createAutomation: async () => ({ path: '/automations', body: { name: 'Welcome', ...(await newGraph()) } }),
  updateAutomation: async () => ({ path: `/automations/${await newAutomation()}`, body: { status: 'enabled' } }),
  deleteAutomation: async () => ({ path: `/automations/${await newAutomation()}`, removes: { name: 'Welcome' } }),
  stopAutomation: async () => ({ path: `/automations/${await newAutomation({ status: 'enabled' })}/stop` }),
  duplicateAutomation: async () => {
    const id = await newAutomation();
    return { path: `/automations/${id}/duplicate`, subject: id };
  },
  retryAutomationRun: async () => {
    const { automation, run } = await newFailedRun();
    return { path: `/automations/${automation}/runs/${run}/retry`, subject: automation };
  },
  skipAutomationStep: async () => {
    const { automation, run } = await newFailedRun();
    return { path: `/automations/${automation}/runs/${run}/skip`, subject: automation };
  },
  retryAutomationRuns: async () => {
    const { automation } = await newFailedRun();
    return { path: `/automations/${automation}/retry`, body: { step_key: 'wait' }, subject: automation };
  },
  deleteImage: async () => {
    const body = buildPng(1, 1);
    const { id } = (await scene.api('POST', '/images', { key: team.key, body })).body;
    return { path: `/images/${id}`, removes: { content_type: 'image/png', bytes: body.length } };
  },
  limitOauthGrant: async () => ({ path: `/oauth/grants/${await newGrant()}`, body: { read_only: true } }),
  revokeOauthGrant: async () => ({
    path: `/oauth/grants/${await newGrant()}`,
    removes: { client_id: expect.stringMatching(/^rkoc_/) as string, scopes: 'team:read' },
  }),
  approveCall: async () => {
    const id = await newApproval();
    return { path: `/approvals/${id}/approve`, subject: id };
  },
  rejectCall: async () => {
    const id = await newApproval();
    return { path: `/approvals/${id}/reject`, subject: id };
  },
  rejectCallsOfApp: async () => {
    await newApproval();
    return { path: '/approvals/reject', body: { app: 'Newsletter Desk' }, subject: null };
  },
  createSegment: async () => ({ path: '/segments', body: { name: 'All' } }),
  updateSegment: async () => ({ path: `/segments/${await newSegment()}`, body: { name: 'Others' } }),
  deleteSegment: async () => ({ path: `/segments/${await newSegment()}`, removes: { name: 'Some' } }),
  createTopic: async () => ({ path: '/topics', body: { name: 'News', default_subscription: 'opt_in' } }),
  updateTopic: async () => ({ path: `/topics/${await newTopic()}`, body: { name: 'Other' } }),
  deleteTopic: async () => ({ path: `/topics/${await newTopic()}`, removes: { name: 'Offers' } }),
  createForm: async () => ({ path: '/forms', body: await formBody() }),
  updateForm: async () => ({ path: `/forms/${await newForm()}`, body: { name: 'Others' } }),
  deleteForm: async () => ({ path: `/forms/${await newForm()}`, removes: { name: expect.any(String) as string } }),
  createSuppression: async () => ({ path: '/suppressions', body: { email: 'one@nowhere.example' } }),
  deleteSuppression: async () => ({
    path: `/suppressions/${await newSuppression()}`,
    removes: { email: `gone${made}@nowhere.example` },
  }),
  addSuppressions: async () => ({
    path: '/suppressions/batch/add',
    body: { emails: ['two@nowhere.example'] },
    subject: expect.stringMatching(/^sup_/) as string,
  }),
  removeSuppressions: async () => ({
    path: '/suppressions/batch/remove',
    body: { ids: [await newSuppression()] },
    subject: null,
  }),
  createShare: async () => {
    const id = await tried();
    return { path: `/emails/${id}/share`, subject: id };
  },
  revokeShares: async () => {
    const id = await tried();
    await scene.api('POST', `/emails/${id}/share`, { key: team.key });
    return { path: `/emails/${id}/share`, subject: id };
  },
  createBroadcastShare: async () => ({ path: `/broadcasts/${await newBroadcast()}/share` }),
  revokeBroadcastShares: async () => {
    const id = await newBroadcast();
    await scene.api('POST', `/broadcasts/${id}/share`, { key: team.key });
    return { path: `/broadcasts/${id}/share` };
  },
  createTemplateShare: async () => ({ path: `/templates/${await newTemplate()}/share` }),
  revokeTemplateShares: async () => {
    const id = await newTemplate();
    await scene.api('POST', `/templates/${id}/share`, { key: team.key });
    return { path: `/templates/${id}/share` };
  },
  createAutomationShare: async () => ({ path: `/automations/${await newAutomation()}/share` }),
  revokeAutomationShares: async () => {
    const id = await newAutomation();
    await scene.api('POST', `/automations/${id}/share`, { key: team.key });
    return { path: `/automations/${id}/share` };
  },
  deleteReceivedEmail: async () => {
    const id = await receiveMail(scene, team);
    return { path: `/emails/receiving/${id}`, subject: id };
  },
  createQueueHold: async () => ({
    path: '/operator/queue/holds',
    body: { team_id: (await scene.team()).id, reason: 'x' },
  }),
  releaseQueueHold: async () => {
    const body = { destination: 'released.example', reason: 'x' };
    const { id } = (await scene.api('POST', '/operator/queue/holds', { key: operator, body })).body;
    return { path: `/operator/queue/holds/${id}` };
  },
  disableOauthClient: async () => ({
    path: `/operator/oauth-clients/${await registered()}/disable`,
    body: { reason: 'x' },
    removes: { client_name: 'Newsletter Desk' },
  }),
  enableOauthClient: async () => {
    const path = `/operator/oauth-clients/${await registered()}`;
    await scene.api('POST', `${path}/disable`, { key: operator, body: { reason: 'x' } });
    return { path: `${path}/enable`, removes: { former_reason: 'x' } };
  },
  retryQueue: async () => ({ path: '/operator/queue/retry', body: { email_id: await tried() }, subject: null }),
  dropQueue: async () => ({
    path: '/operator/queue/drop',
    body: { email_id: await tried(), reason: 'x' },
    subject: null,
  }),
  suspendProvider: async () => ({
    path: '/operator/providers/google/suspend',
    body: { minutes: 5, reason: 'x' },
    subject: 'google',
  }),
  resumeProvider: async () => ({ path: `${await suspendedProvider()}/resume`, subject: 'google' }),
  resetProvider: async () => ({ path: `${await suspendedProvider()}/reset`, subject: 'google' }),
  releaseBreaker: async () => {
    const domain = await team.domain();
    await recordOutcomes(scene, { team, domain }, { accepted: 1000, complained: 50 });
    await evaluate(scene);
    const id = (await scene.api('GET', '/operator/breakers', { key: operator })).body.data[0].id as string;
    return { path: `/operator/breakers/${id}/release`, body: { reason: 'x' }, subject: id };
  },
  startWarmUp: async () => ({ path: '/operator/egress/fresh/warm-up/start', subject: 'fresh' }),
  pauseWarmUp: async () => ({ path: `${await warmedUp()}/pause`, subject: 'fresh' }),
  continueWarmUp: async () => ({ path: `${await warmedUp()}/continue`, subject: 'fresh' }),
  stopWarmUp: async () => ({ path: `${await warmedUp()}/stop`, subject: 'fresh' }),
  renewCertificates: async () => {
    await keepWanted(scene.app.world);
    return { path: '/operator/certificates/renew', body: {}, subject: null };
  },
};

/** They need name servers, providers, endpoints that answer or a file; they use the same mechanism. */
const elsewhere = [
  'claimDomain',
  'configureDomainDns',
  'createContactImport',
  'createImage',
  'createWebhook',
  'eraseAddress',
  'exportContacts',
  'exportPerson',
  'getContactImportFailedRows',
];

const newKey = async () =>
  (await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Old' } })).body.id as string;
let made = 0;
const idOfNew = async (path: string, body: object) =>
  (await scene.api('POST', path, { key: team.key, body })).body.id as string;
const ownDomain = async () => (await team.domain()).name;
const newRule = async () => idOfNew('/inbound-rules', { pattern: `box${++made}@${await ownDomain()}`, action: 'drop' });
async function newGrant(): Promise<string> {
  const owner = await createPeople(scene).person({ team, role: 'owner' });
  const oauth = createOauth(scene);
  await oauth.letIn(owner, await oauth.register());
  return (await scene.api('GET', '/oauth/grants', { key: team.key })).body.data[0].id;
}
async function newLabel(): Promise<{ id: string; label: string }> {
  const { id, call } = await createInbox(scene, team);
  return { id, label: (await call('POST', '/labels', { name: 'Old' })).body.id as string };
}
/** Creates an approval with a call that has no audit entry of its own. */
async function newApproval(): Promise<string> {
  const owner = await createPeople(scene).person({ team, role: 'owner' });
  const oauth = createOauth(scene);
  const scope = { scope: 'emails:send' };
  const { access_token: key } = await oauth.letIn(owner, await oauth.register(), scope, { approval: 'sends' });
  const body = { from: `a@${await ownDomain()}`, to: 'x@example.org', subject: 'Hello', text: 'x' };
  return (await scene.api('POST', '/emails', { key, body })).body.details.approval_id as string;
}
const newTemplate = () => idOfNew('/templates', { name: 'Receipt', html: '<p>x</p>' });
const newProperty = () => idOfNew('/contact-properties', { key: `key_${++made}`, type: 'string' });
const newSegment = () => idOfNew('/segments', { name: 'Some' });
const newBroadcast = async (more: object = {}) => {
  const address = { line1: '1 Mail Street', city: 'Berlin', state: 'BE', postal_code: '10115', country: 'DE' };
  await scene.api('PATCH', '/team', { key: team.key, body: { postal_address: address } });
  const from = `News <news@${await ownDomain()}>`;
  const content = {
    from,
    subject: 'News',
    text: 'Hello',
    segment_id: await idOfNew('/segments', { name: `S${++made}` }),
  };
  return idOfNew('/broadcasts', { ...content, ...more });
};
const newEvent = () => idOfNew('/events', { name: `event${++made}` });
const newGraph = async () => {
  await newEvent();
  const config = { event_name: `event${made}` };
  return { steps: [{ key: 'start', type: 'trigger', config }], connections: [] };
};
const newAutomation = async (more: object = {}) =>
  idOfNew('/automations', { name: 'Welcome', ...(await newGraph()), ...more });
/** Starts a run and marks it as failed at its delay. */
async function newFailedRun(): Promise<{ automation: string; run: string }> {
  const { steps } = await newGraph();
  const automation = await idOfNew('/automations', {
    name: 'Welcome',
    status: 'enabled',
    steps: [...steps, { key: 'wait', type: 'delay', config: { duration: '1 day' } }],
    connections: [{ from: 'start', to: 'wait' }],
  });
  const contact = await idOfNew('/contacts', { email: `entering${++made}@example.org` });
  const run = await idOfNew(`/automations/${automation}/runs`, { contact_id: contact });
  const sql = "update automation_runs set status = 'failed', step_key = 'wait' where id = ?";
  await scene.app.world.db.run(sql, [run]);
  return { automation, run };
}
const newTopic = () => idOfNew('/topics', { name: 'Offers', default_subscription: 'opt_in' });
const formBody = async () => ({
  name: `Form ${++made}`,
  topic_id: await idOfNew('/topics', { name: `Topic ${made}`, default_subscription: 'opt_out' }),
  from: `news@${await ownDomain()}`,
});
const newForm = async () => idOfNew('/forms', await formBody());
const newSuppression = () => idOfNew('/suppressions', { email: `gone${++made}@nowhere.example` });
let domains = 0;
const newDomain = async () =>
  (await scene.api('POST', '/domains', { key: team.key, body: { name: `audit${++domains}.example.com` } })).body
    .id as string;
async function registered(): Promise<string> {
  const { clientId } = await createOauth(scene).register();
  return (await scene.api('GET', `/operator/oauth-clients?search=${clientId}`, { key: operator })).body.data[0].id;
}

async function suspendedProvider(): Promise<string> {
  const body = { minutes: 5, reason: 'x' };
  await scene.api('POST', '/operator/providers/google/suspend', { key: operator, body });
  return '/operator/providers/google';
}

async function warmedUp(): Promise<string> {
  await scene.api('POST', '/operator/egress/fresh/warm-up/start', { key: operator });
  return '/operator/egress/fresh/warm-up';
}

async function tried(): Promise<string> {
  const domain = await team.domain();
  const body = { from: `a@${domain.name}`, to: 'tempfail@tried.example', subject: 'x', text: 'x' };
  const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
  await scene.settled();
  return id as string;
}

describe('audited changes of the contract', () => {
  it('are all covered here or listed as covered elsewhere', () => {
    expect([...Object.keys(changes), ...elsewhere].sort()).toEqual(
      auditedOperations.map(({ operationId }) => operationId).sort(),
    );
  });

  it.each(
    auditedOperations
      .filter(({ operationId }) => operationId in changes)
      .map((one) => [formatLabel(one), one] as const),
  )(
    'include %s, which writes one entry in the words of the contract',
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
      // The same call, refused, changes nothing and has no entry.
      const refused = await scene.api(method.toUpperCase(), path, { key, body: { nonsense: 1 } });
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect((await entries('/operator/audit', operator)).length - before).toBe(1);
    },
  );

  it('are all operations that change something, except those listed with a reason', () => {
    const silent = contractOperations().filter(
      ({ method, operation }) => method !== 'get' && operation['x-service-audit'] === undefined,
    );
    expect(silent.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(unaudited).sort());
  });

  it('include exports of many people’s data, and HEAD exports nothing', async () => {
    const before = (await entries()).length;
    expect((await scene.api('HEAD', '/contacts/export', { key: team.key })).status).toBe(200);
    const nowhere = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31';
    const refused = await scene.api('GET', `/contacts/export?segment_id=${nowhere}`, { key: team.key });
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(await entries()).toHaveLength(before);
    const answer = await scene.api('GET', '/contacts/export?format=ndjson', { key: team.key });
    expect(answer.status).toBe(200);
    expect(await entries()).toHaveLength(before + 1);
    expect((await entries())[0]).toMatchObject({
      action: 'contacts.exported',
      details: { format: 'ndjson' },
      request_id: answer.headers.get('x-request-id'),
    });
  });
});

describe('an audit entry', () => {
  it('names the key as it was called then, and contains no secret', async () => {
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

  it('contains the name of the team, domain, API key or suppression that was changed', async () => {
    const { id, name } = await team.domain();
    const key = await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Shop' } });
    const suppression = { email: 'gone@example.org' };
    await scene.api('POST', '/suppressions', { key: team.key, body: suppression });
    await scene.api('PATCH', `/domains/${id}`, { key: team.key, body: { open_tracking: true } });
    await scene.api('PATCH', '/team', { key: team.key, body: { ai_assist_enabled: true } });
    // As `rasket setup` records a key that it creates.
    await audited(scene.app.world, {
      team_id: team.id,
      action: 'api_key.created',
      subject_id: key.body.id as string,
      address: null,
      user_agent: null,
      request_id: null,
      details: null,
      ...describeActor({ kind: 'job', name: 'setup' }),
    }).write();
    const [ofKey, ofTeam, ofDomain, ofSuppression] = await entries();
    expect(ofTeam).toMatchObject({ action: 'team.updated', details: { name: expect.any(String) } });
    expect(ofKey).toMatchObject({ action: 'api_key.created', details: { name: 'Shop' } });
    expect(ofDomain).toMatchObject({ action: 'domain.updated', details: { name, open_tracking: true } });
    expect(ofSuppression).toMatchObject({ action: 'suppression.created', details: suppression });
  });

  it('is written if and only if its change is made', async () => {
    const { db } = scene.app.world;
    const before = (await entries()).length;
    // The entry cannot be written, so the change is not made.
    await db.withKnex(async (knex) => {
      await knex.raw('alter table audit_log rename to audit_log_away');
    });
    const id = await db.get<{ id: string }>('select id from api_keys where team_id = ? order by id desc', [team.id]);
    const failed = await scene.api('DELETE', `/api-keys/${id?.id}`, { key: team.key });
    await db.withKnex(async (knex) => {
      await knex.raw('alter table audit_log_away rename to audit_log');
    });
    expect(failed.status).toBe(503);
    expect(await db.get('select status from api_keys where id = ?', [id?.id ?? ''])).toEqual({ status: 'active' });
    expect(await entries()).toHaveLength(before);
  });

  it('cannot be changed, and is removed only by age', async () => {
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

describe('the actor of an entry', () => {
  it('an entry names the app and the person for whom it acts, also for a call that a person approved', async () => {
    const oauth = createOauth(scene);
    const owner = await createPeople(scene).person({ team, role: 'owner' });
    const app = await oauth.register({ client_name: 'Ledger' });
    const scope = { scope: 'templates:write team:write' };
    const { access_token: key } = await oauth.letIn(owner, app, scope, { approval: 'sends' });
    const grant = (await scene.api('GET', '/oauth/grants', { key: team.key })).body.data[0].id as string;
    const actor = { kind: 'app', id: owner.userId, name: owner.email, app: { name: 'Ledger', grant_id: grant } };
    const made = await scene.api('POST', '/templates', { key, body: { name: 'Mine', html: '<p>x</p>' } });
    expect(made.status).toBe(201);
    expect((await entries())[0]).toMatchObject({ action: 'template.created', actor });
    const held = await scene.api('PATCH', '/team', { key, body: { sender_name: 'Of an app' } });
    const id = held.body.details.approval_id as string;
    expect((await owner.call('POST', `/approvals/${id}/approve`, {})).body.status).toBe('done');
    const both = (await entries()).slice(0, 2);
    expect(both.find(({ action }) => action === 'team.updated')?.actor).toEqual(actor);
    expect(both.find(({ action }) => action === 'approval.approved')?.actor).toEqual({
      kind: 'user',
      id: owner.userId,
      name: owner.email,
      app: null,
    });
  });
});
