// An app never erases mail, whatever its scopes; people and API keys may, and the audit log shows how much was erased.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAssistants, CLIENTS } from '../../rig/mcp.ts';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const ADA = 'ada@wonderland.example';

let scene: Scene;
let team: Team;
let owner: Person;
let domain: string;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  owner = await createPeople(scene).person({ team, role: 'owner' });
  domain = (await team.domain()).name;
});
afterAll(() => scene.close());

const tokenFor = async (scope: string, limits: Record<string, string> = {}): Promise<string> => {
  const oauth = createOauth(scene);
  return (await oauth.letIn(owner, await oauth.register(), { scope }, limits)).access_token;
};
const erase = (key: string, body: object) => scene.api('POST', '/contacts/erase', { key, body });
async function sendToAda(): Promise<string> {
  const email = { from: `shop@${domain}`, to: ADA, subject: 'Your order', text: 'It is on its way.' };
  const { body } = await scene.api('POST', '/emails', { key: team.key, body: email });
  await scene.settled();
  return body.id as string;
}
const readSubject = async (id: string): Promise<string> =>
  (await scene.api('GET', `/emails/${id}`, { key: team.key })).body.subject as string;

const REFUSAL =
  'with_mail erases mail, which no app may do; omit it. A person who is signed in, or an API key with full_access, can set it.';

describe('an app that erases an address', () => {
  it.each([
    ['contacts:write', {}],
    ['contacts:write emails:send emails:read', {}],
    ['contacts:write', { approval: 'changes' }],
  ])('is refused with the scopes %s and the limits %j if it asks for the mail too', async (scope, limits) => {
    const id = await sendToAda();
    const refused = await erase(await tokenFor(scope, limits), { email: ADA, with_mail: true });
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({ name: 'invalid_permission', message: REFUSAL });
    expect(await readSubject(id)).toBe('Your order');
  });

  it('an app that wants the mail erased too is refused before the address is looked at', async () => {
    const refused = await erase(await tokenFor('contacts:write'), { email: 'nobody', with_mail: true });
    expect(refused.body).toMatchObject({ statusCode: 403, message: REFUSAL });
  });

  it.each([{}, { with_mail: false }])('an app may erase the contact alone, with the fields %j', async (more) => {
    await scene.api('POST', '/contacts', { key: team.key, body: { email: ADA } });
    const id = await sendToAda();
    const erased = await erase(await tokenFor('contacts:write'), { email: ADA, ...more });
    expect(erased.body).toMatchObject({ contact: expect.any(String), emails: 0 });
    expect(await readSubject(id)).toBe('Your order');
  });
});

describe('an assistant that erases an address', () => {
  it('an assistant is offered no field for the mail, is told that an erasure cannot be undone, and is refused if it sets the field', async () => {
    const assistants = await createAssistants(scene, team);
    await using client = await CLIENTS['2026-07-28'](assistants.url, await assistants.token());
    const found = (await client.call('search_operations', { query: 'erase an address' })).value()['data'] as {
      operation_id: string;
      is_destructive: boolean;
      arguments: { properties: object };
    }[];
    const tool = found.find(({ operation_id: id }) => id === 'eraseAddress');
    expect(Object.keys(tool?.arguments.properties ?? {})).toEqual(['email']);
    expect(tool?.is_destructive).toBe(true);
    const id = await sendToAda();
    const call = { operation_id: 'eraseAddress', arguments: { email: ADA, with_mail: true } };
    const refused = await client.call('call_operation', call);
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain(REFUSAL);
    expect(await readSubject(id)).toBe('Your order');
  });
});

describe('the audit log of an erasure', () => {
  it('the audit log of an erasure has the number of erased emails and not the address', async () => {
    const body = { name: 'Erasure' };
    const { key } = await scene.team();
    expect((await erase(key, { email: ADA, with_mail: true })).body).toMatchObject({ emails: 0 });
    expect((await scene.api('GET', '/audit', { key })).body.data[0]?.action).not.toBe('address.erased');
    const made = await scene.api('POST', '/api-keys', { key: team.key, body });
    await sendToAda();
    const erased = await erase(made.body.token, { email: ADA, with_mail: true });
    expect(erased.body.emails).toBeGreaterThan(0);
    const { data } = (await scene.api('GET', '/audit', { key: team.key })).body;
    expect(data[0]).toMatchObject({
      action: 'address.erased',
      actor: { kind: 'api_key', name: 'Erasure' },
      details: { with_mail: true, emails: erased.body.emails, canceled: 0, received_emails: 0, drafts: 0 },
    });
    expect(data[1]).toMatchObject({ action: 'address.erased', details: { with_mail: true } });
    expect(JSON.stringify(data)).not.toContain(ADA);
  });
});
