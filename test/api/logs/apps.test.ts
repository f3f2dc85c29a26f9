// An app that may read the logs sees only content of requests that it may make itself.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople, type Person } from '../../rig/people.ts';
import { MESSAGE, receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let owner: Person;
let paths: Record<string, string>;
const requests = new Map<string, string>();
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  owner = await createPeople(scene).person({ team, role: 'owner' });
  const { name } = await team.domain();
  const body = { from: `a@${name}`, to: 'x@example.org', subject: 'Hello', text: 'Between us' };
  const { id: email } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
  const received = await receiveMail(scene, team, { raw: MESSAGE });
  await scene.api('POST', '/contacts', { key: team.key, body: { email: 'ada@example.org', first_name: 'Ada' } });
  paths = {
    email: `/emails/${email}`,
    received: `/emails/receiving/${received}`,
    contact: '/contacts/ada@example.org',
    members: '/team/members',
    domains: '/domains',
    approvals: '/approvals',
    team: '/team',
  };
  for (const [what, path] of Object.entries(paths)) {
    const answer = await scene.api('GET', path, { key: team.key });
    expect([what, answer.status]).toEqual([what, 200]);
    requests.set(what, answer.headers.get('x-request-id') ?? '');
  }
});
afterAll(() => scene.close());

/** Returns what an app with these scopes reads of those requests. */
async function readBy(scopes: readonly string[], person = owner): Promise<string[]> {
  const oauth = createOauth(scene);
  const { access_token: key } = await oauth.letIn(person, await oauth.register(), { scope: scopes.join(' ') });
  const read: string[] = [];
  for (const [what, id] of requests) {
    const { status, body } = await scene.api('GET', `/logs/${id}`, { key });
    expect([what, status, body.endpoint]).toEqual([what, 200, paths[what]]);
    if (body.response_body.redacted !== true) read.push(what);
    else expect(body.response_body).toEqual({ redacted: true, bytes: expect.any(Number) });
  }
  return read;
}

it('an app with logs:read alone sees requests without bodies', async () => {
  expect(await readBy(['logs:read'])).toEqual([]);
});

it('an app with more scopes sees the bodies of what these reach', async () => {
  expect(await readBy(['logs:read', 'contacts:read'])).toEqual(['contact']);
  expect(await readBy(['logs:read', 'emails:read'])).toEqual(['email', 'received']);
});

it('an app with every scope sees no bodies of routes closed to apps, nor calls proposed by other apps', async () => {
  expect(await readBy(SCOPE_NAMES)).toEqual(['email', 'received', 'contact', 'domains', 'team']);
});

it('a key and a person see all bodies', async () => {
  for (const id of requests.values()) {
    const answers = [await scene.api('GET', `/logs/${id}`, { key: team.key }), await owner.call('GET', `/logs/${id}`)];
    for (const { body } of answers) expect(body.response_body.redacted).toBeUndefined();
  }
});
