import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startApp } from '../../../src/app.ts';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { keepInboxes } from '../../../src/features/installation/upkeep/keep-inboxes.ts';
import { createApi } from '../../rig/api.ts';
import { driver } from '../../rig/database.ts';
import { writingInbox, type WritingInbox } from '../../rig/inbox.ts';
import { nodeFolder } from '../../rig/node-folder.ts';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const SECOND = 1000;

let scene: Scene;
let team: Team;
let people: People;
let inbox: WritingInbox;
let ada: Person;
let grace: Person;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  people = createPeople(scene);
  ada = await people.person({ team, name: 'Ada Lovelace', email: 'ada@people.example' });
  grace = await people.person({ team, email: 'grace@people.example' });
});
afterAll(() => scene.close());

let thread: string;
let answered: string;
beforeEach(async () => {
  inbox = await writingInbox(scene, team);
  const { threadId, path } = await inbox.arrive({});
  thread = `${inbox.path}/threads/${threadId}`;
  answered = `${inbox.path}${path}`;
});

const announce = (person: Person) => person.call('PUT', `${thread}/answering`);
const withdraw = (person: Person) => person.call('DELETE', `${thread}/answering`);
const namesSeenBy = async (person: Person): Promise<string[]> =>
  ((await person.call('GET', thread)).body.answering as { name: string }[]).map(({ name }) => name);

describe('the announcement of a reply', () => {
  it('is shown in the thread, in the list and in search, with name, address and time, until it is withdrawn', async () => {
    const since = new Date(scene.clock.now()).toISOString();
    const announced = await announce(ada);
    const seen = { name: 'Ada Lovelace', email: 'ada@people.example', since };
    expect(announced.status, announced.text).toBe(200);
    expect(announced.body).toMatchObject({
      object: 'inbox_answering',
      thread_id: thread.split('/').at(-1),
      answering: [{ ...seen, is_caller: true }],
      expires_at: new Date(Date.parse(since) + 120 * SECOND).toISOString(),
    });
    const forGrace = [{ ...seen, is_caller: false }];
    expect((await grace.call('GET', thread)).body.answering).toEqual(forGrace);
    expect((await grace.call('GET', `${inbox.path}/threads`)).body.data).toMatchObject([{ answering: forGrace }]);
    const found = await grace.call('GET', `${inbox.path}/threads/search?query=1041`);
    expect(found.body.data).toMatchObject([{ answering: forGrace }]);
    expect((await grace.call('PATCH', thread, { read: true })).body.answering).toEqual(forGrace);
    expect((await scene.api('GET', thread, { key: team.key })).body.answering).toEqual(forGrace);
    expect((await withdraw(ada)).body).toMatchObject({ answering: [], expires_at: null });
    expect((await withdraw(ada)).status).toBe(200);
    expect(await namesSeenBy(grace)).toEqual([]);
  });

  it('expires after two minutes, unless it is renewed, which keeps its time', async () => {
    const { body: first } = await announce(ada);
    scene.clock.advance(119 * SECOND);
    expect(await namesSeenBy(grace)).toEqual(['Ada Lovelace']);
    const { body: renewed } = await announce(ada);
    expect(renewed.answering).toEqual(first.answering);
    scene.clock.advance(119 * SECOND);
    expect(await namesSeenBy(grace)).toEqual(['Ada Lovelace']);
    scene.clock.advance(SECOND);
    expect(await namesSeenBy(grace)).toEqual([]);
    const { body: again } = await announce(ada);
    expect(again.answering[0].since).not.toBe(first.answering[0].since);
  });

  it('ends when its person sends in the thread, and not when another person or an API key does', async () => {
    await announce(ada);
    await announce(grace);
    expect((await scene.api('POST', `${answered}/reply`, { key: team.key, body: { text: 'K' } })).status).toBe(200);
    expect(await namesSeenBy(grace)).toEqual(['Ada Lovelace', 'grace@people.example']);
    scene.clock.advance(SECOND);
    const sent = await ada.call('POST', `${answered}/reply`, { text: 'Here it is.' });
    expect(sent.status, sent.text).toBe(200);
    expect(await namesSeenBy(grace)).toEqual(['grace@people.example']);
    scene.clock.advance(SECOND);
    await announce(ada);
    expect(await namesSeenBy(grace)).toEqual(['grace@people.example', 'Ada Lovelace']);
    const second = await grace.call('POST', `${answered}/forward`, { to: 'x@example.net' });
    expect(second.status, second.text).toBe(200);
    expect(await namesSeenBy(ada)).toEqual(['Ada Lovelace']);
  });

  it('is made by people alone: API keys, apps and viewers are refused', async () => {
    const oauth = createOauth(scene);
    const app = await oauth.register();
    const { access_token: token } = await oauth.letIn(ada, app, { scope: SCOPE_NAMES.join(' ') });
    const viewer = await people.person({ team, role: 'viewer' });
    for (const method of ['PUT', 'DELETE']) {
      for (const key of [team.key, token]) {
        expect((await scene.api(method, `${thread}/answering`, { key })).status).toBe(403);
      }
      expect((await viewer.call(method, `${thread}/answering`)).status).toBe(403);
    }
    expect(await namesSeenBy(ada)).toEqual([]);
    const other = await people.person({ team: await scene.team(), role: 'owner' });
    expect((await announce(other)).status).toBe(404);
  });

  it('is not shown once its person has left the team', async () => {
    const guest = await people.person({ team });
    const owner = await people.person({ team, role: 'owner' });
    await announce(guest);
    expect(await namesSeenBy(ada)).toHaveLength(1);
    expect((await owner.call('DELETE', `/teams/${team.id}/members/${guest.memberId}`)).status).toBe(200);
    expect(await namesSeenBy(ada)).toEqual([]);
  });

  it('leaves no row behind: upkeep removes expired ones, and a deleted thread takes its own along', async () => {
    const { db } = scene.app.world;
    const count = async (): Promise<number> => (await db.all('select 1 from inbox_answering')).length;
    await keepInboxes(scene.app.world);
    const before = await count();
    await announce(ada);
    await announce(grace);
    expect(await count()).toBe(before + 2);
    expect((await ada.call('DELETE', thread)).status).toBe(200);
    expect(await count()).toBe(before);
    const { threadId } = await inbox.arrive({});
    await ada.call('PUT', `${inbox.path}/threads/${threadId}/answering`);
    await keepInboxes(scene.app.world);
    expect(await count()).toBe(before + 1);
    scene.clock.advance(121 * SECOND);
    await keepInboxes(scene.app.world);
    expect(await count()).toBe(0);
  });
});

// runs only on PostgreSQL, because SQLite has one process
it.runIf(driver === 'pg')('an announcement of a reply on one node is shown by another, and ends there', async () => {
  const dataDir = nodeFolder(scene);
  const { config, log } = scene.app.world;
  const node = await startApp({ config, dataDir, clock: scene.clock, version: '0.0.0-test', log, roles: ['http'] });
  try {
    const api = createApi(node.http?.url ?? '');
    await announce(ada);
    const seen = await api('GET', thread, { key: team.key });
    expect(seen.body.answering).toMatchObject([{ name: 'Ada Lovelace' }]);
    // Ids of one millisecond have no order between nodes.
    scene.clock.advance(SECOND);
    const headers = { ...ada.headers, origin: node.http?.url ?? '' };
    const sent = await api('POST', `${answered}/reply`, { headers, body: { text: 'Here it is.' } });
    expect(sent.status, sent.text).toBe(200);
    expect(await namesSeenBy(grace)).toEqual([]);
  } finally {
    await node.close(0);
    rmSync(dataDir, { recursive: true, force: true });
  }
});
