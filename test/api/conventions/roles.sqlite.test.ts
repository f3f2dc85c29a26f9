import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLES } from '../../../src/contract/index.ts';
import type { HttpPort } from '../../../src/ports/http/index.ts';
import { audited, describeActor } from '../../../src/tenancy/audit/index.ts';
import { contractOperations } from '../../rig/api.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { startSecondPort } from '../../rig/second-port.ts';
import { formatLabel, sampleCall, type Operation } from './sample-calls.ts';

// No credential of the program stands for a person yet: a cookie that names a role is added to the list of
// authenticators here. Everything after it, from the rate limit to the answer, is what runs for every caller.
const person = { sessionId: randomUUID(), userId: randomUUID(), name: 'ada@example.com' };
let scene: Scene;
let team: Team;
let port: HttpPort;
beforeAll(async () => {
  // Everything that the operator or the team can switch off is on, because it is refused like a missing role.
  scene = await startScene({ config: { billing: { self_service: true } } });
  team = await scene.team();
  await scene.api('PATCH', '/team', { key: team.key, body: { ai_assist_enabled: true } });
  const { db } = scene.app.world;
  const now = scene.clock.now();
  const row = {
    id: person.userId,
    email: person.name,
    email_key: person.name,
    email_verified_at: now,
    created_at: now,
  };
  await db.insertMany('users', Object.keys(row), [Object.values(row)]);
  const identify = (secret: string) => {
    const role = ROLES.find((one) => one === secret) ?? null;
    return Promise.resolve({
      teamId: role === null ? null : team.id,
      actor: { kind: 'session' as const, ...person, role },
    });
  };
  port = await startSecondPort(scene, { authenticators: [{ cookie: 'test_session', identify }] });
});
afterAll(async () => {
  await port.close(0);
  await scene.close();
});

interface Said {
  status: number;
  name?: string;
  message?: string;
}

async function call(operation: Operation, headers: Record<string, string>, more: object = {}): Promise<Said> {
  const { method, path, body } = { ...sampleCall(operation), ...more };
  const answer = await fetch(`http://127.0.0.1:${port.port}${path}`, {
    method,
    headers: { 'user-agent': 'test', 'content-type': 'application/json', origin: scene.app.world.origin(), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (answer.status === 401 || answer.status === 403)
    return { ...((await answer.json()) as object), status: answer.status };
  // A stream ends only when its reader disconnects.
  await answer.body?.cancel();
  return { status: answer.status };
}

const as = (role: string | null) => ({ cookie: `theme=dark; test_session=${role ?? 'nobody'}` });
// A step of OAuth is not a person's call, nor is /mcp: their families test what they accept instead of a credential.
const operations = contractOperations().filter(
  ({ operation }) => operation['x-oauth-flow'] !== true && operation['x-mcp'] !== true,
);

describe.each([...ROLES, null])('a person whose role is %s', (role) => {
  it.each(operations.map((operation) => [formatLabel(operation), operation] as const))(
    'gets the documented decision for %s',
    async (_, operation) => {
      const { 'x-service-permission': permission, 'x-service-role': least } = operation.operation;
      const isOpen = permission === 'none';
      // Operations on a person's own data require neither a role nor a team.
      const isOwn = permission === 'session' && least === null;
      const isHigh = role !== null && least !== null && ROLES.indexOf(role) >= ROLES.indexOf(least);
      const { status, name } = await call(operation, as(role));
      if (isOpen || isOwn || isHigh) expect([status, name]).not.toContain('invalid_permission');
      else expect({ status, name }).toEqual({ status: 403, name: 'invalid_permission' });
      if (!isOpen) expect(status).not.toBe(401);
    },
  );
});

const unsafe = operations.filter(
  ({ method, operation }) =>
    method !== 'get' && (operation['x-service-permission'] !== 'none' || operation['x-same-origin'] === true),
);

// Operations of operators or keys only refuse a cookie before they check the origin.
it.each(unsafe.map((operation) => [formatLabel(operation), operation] as const))(
  'a page of another origin cannot call %s with the cookie of an owner',
  async (_, operation) => {
    for (const origin of ['null', 'https://evil.example', scene.app.world.origin().replace(/:\d+$/, ':1')]) {
      const { status, message } = await call(operation, { ...as('owner'), origin });
      expect([status, message], origin).toEqual([403, expect.stringMatching(/^The header Origin must be /)]);
    }
  },
);

/** Requirements of an operation beyond its role, with the reason. */
const EXCEPTIONS: Record<string, [role: string, why: string]> = {
  removeTeamMember: ['viewer', 'everybody may leave; whom else one removes stands in a table of its own'],
  revokeOauthGrant: ['viewer', 'everybody may take back what they allowed; the rest is for admins'],
  limitOauthGrant: ['viewer', 'everybody may limit what they allowed; the rest is for admins'],
  listInvitations: ['admin', 'names addresses of people who are not in the team'],
  getSso: ['admin', 'names the provider, and the client that the team is there'],
  ...Object.fromEntries(
    ['putSso', 'deleteSso', 'addSsoDomain', 'removeSsoDomain', 'verifySsoDomain'].map((id) => [
      id,
      ['owner', 'whoever decides by whom people are let in can become each of them'],
    ]),
  ),
  ...Object.fromEntries(
    ['getBilling', 'listBillingPlans', 'listInvoices', 'getInvoice', 'getInvoiceCsv', 'getInvoicePage'].map((id) => [
      id,
      ['admin', 'what the team pays is told to those who run it'],
    ]),
  ),
  ...Object.fromEntries(
    ['changeBillingPlan', 'createBillingCheckout', 'createBillingPortal'].map((id) => [
      id,
      ['owner', 'spends the team’s money'],
    ]),
  ),
  ...Object.fromEntries(
    ['createInbox', 'updateInbox', 'deleteInbox', 'updateInboxAgent'].map((id) => [
      id,
      ['admin', 'decides where the mail of an address goes, and who sees it; answering it is for members'],
    ]),
  ),
  listAudit: ['admin', 'names people with the addresses that they came from'],
  previewBroadcast: ['viewer', 'reads, with more to say than fits a query'],
  exportPerson: ['admin', 'has everything that the team knows about a person'],
  dryRunAutomation: ['viewer', 'reads, with more to say than fits a query'],
};
const ADMIN_PATHS = /^\/(?:api-keys|domains|inbound-rules|webhooks|teams?)(?:\/|$)/;

it.each(operations.filter(({ operation }) => operation['x-service-role'] !== null))(
  'the role of $operationId follows its kind',
  ({ operationId, method, path, operation }) => {
    const usual = method === 'get' ? 'viewer' : ADMIN_PATHS.test(path) ? 'admin' : 'member';
    expect(operation['x-service-role']).toBe(EXCEPTIONS[operationId]?.[0] ?? usual);
  },
);

const named = (id: string): Operation => {
  const found = operations.find(({ operationId }) => operationId === id);
  if (!found) throw new Error(`the contract has no ${id}`);
  return found;
};

it('a refusal names the required role and the actual one', async () => {
  expect((await call(named('createDomain'), as('member'))).message).toBe(
    'This requires the role admin or higher in the team; your role is member.',
  );
  expect((await call(named('getTeam'), as(null))).message).toBe(
    'This route requires a team; choose the team of this session first.',
  );
});

it('a request with a token and a cookie uses the token, and a cookie of another name is ignored', async () => {
  const body = { name: 'Sends', permission: 'sending_access' };
  const { token } = (await scene.api('POST', '/api-keys', { key: team.key, body })).body;
  const both = { ...as('owner'), authorization: `Bearer ${token}` };
  expect(await call(named('getTeam'), both)).toMatchObject({ status: 401, name: 'restricted_api_key' });
  expect(await call(named('getTeam'), { cookie: 'my_test_session=owner' })).toMatchObject({
    status: 401,
    name: 'missing_api_key',
  });
});

describe('the audit log names the kind of actor', () => {
  const newest = async () => (await scene.api('GET', '/audit', { key: team.key })).body.data[0];

  it('for a person', async () => {
    expect((await call(named('createSegment'), as('member'), { body: { name: 'Readers' } })).status).toBe(201);
    expect(await newest()).toMatchObject({
      action: 'segment.created',
      actor: { kind: 'user', id: person.userId, name: person.name },
    });
  });

  it('for the program itself', async () => {
    const { world } = scene.app;
    const nowhere = { address: null, user_agent: null, request_id: null, details: null };
    const subject = { team_id: team.id, action: 'broadcast.canceled', subject_id: null };
    const audit = audited(world, { ...subject, ...nowhere, ...describeActor({ kind: 'job', name: 'broadcasts' }) });
    await audit.write();
    expect(await newest()).toMatchObject({ actor: { kind: 'system', id: null, name: 'broadcasts' } });
  });
});
