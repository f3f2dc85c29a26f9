import http from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportContacts } from '../../../src/features/audience/contacts/export-contacts.ts';
import { nextTurn } from '../../../src/platform/clock.ts';
import type { Ctx } from '../../../src/tenancy/access/index.ts';
import { buildForm } from '../../rig/forms.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const buildCtx = (team: Team): Ctx => ({
  store: scene.app.world,
  teamId: team.id,
  actor: { kind: 'job', name: 'test' },
  requestId: scene.app.world.ids.uuid(),
});

const EVERYBODY = { format: 'csv', segmentId: undefined } as const;

const exported = (team: Team) => scene.api('GET', '/contacts/export', { key: team.key });

it('a third concurrent export of a team is refused, and exports of other teams are not', async () => {
  const team = await scene.team();
  const first = await exportContacts(buildCtx(team), EVERYBODY);
  const second = await exportContacts(buildCtx(team), EVERYBODY);
  const third = await exported(team);
  expect([third.status, third.body.name, third.headers.get('retry-after')]).toEqual([429, 'rate_limit_exceeded', '5']);
  expect(third.body.message).toContain('At most 2 exports of a team run at a time');
  expect((await exported(await scene.team())).status).toBe(200);
  first.end();
  // The call releases one slot, however often it is repeated.
  first.end();
  const again = await exportContacts(buildCtx(team), EVERYBODY);
  expect((await exported(team)).status).toBe(429);
  second.end();
  again.end();
  expect((await exported(team)).status).toBe(200);
});

it('an export releases its slot when it is refused, requested with HEAD, or abandoned by its reader', async () => {
  const team = await scene.team();
  for (let n = 0; n < 3; n++) {
    const nowhere = await scene.api('GET', `/contacts/export?segment_id=${scene.app.world.ids.uuid()}`, {
      key: team.key,
    });
    expect(nowhere.status).toBe(422);
    expect(await leave(team, 'HEAD')).toBe(200);
    expect(await leave(team, 'GET')).toBe(200);
    await expect.poll(async () => (await exported(team)).status).toBe(200);
  }
});

/** Starts an export and disconnects when its response begins. */
const leave = (team: Team, method: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${team.key}`, 'user-agent': 'reader/1' };
    const request = http.request(`${scene.url}/contacts/export`, { method, headers, agent: false }, (response) => {
      response.on('error', () => undefined);
      resolve(response.statusCode);
      request.destroy();
    });
    request.on('error', reject);
    request.end();
  });

it('an export makes 200 lines at a time and lets the event loop turn in between', async () => {
  const team = await scene.team();
  const people = Array.from({ length: 4000 }, (_, n) => `person${n}@example.org,Ada ${n}`).join('\n');
  const form = buildForm(`email,first_name\n${people}\n`);
  const sent = await scene.api('POST', '/contacts/imports', { key: team.key, ...form });
  const imported = async () =>
    (await scene.api('GET', `/contacts/imports/${sent.body.id}`, { key: team.key })).body.status;
  await expect.poll(imported).toBe('completed');
  const { lines } = await exportContacts(buildCtx(team), EVERYBODY);
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    while (!isOver) {
      await nextTurn();
      turns += 1;
    }
  })();
  const pieces: { lines: number; turns: number }[] = [];
  for await (const piece of lines) {
    pieces.push({ lines: piece.split('\r\n').length - 1, turns });
    turns = 0;
  }
  isOver = true;
  await counting;
  // The first piece has the names of the columns, which need no page of contacts.
  const pages = pieces.slice(1);
  expect(pages.map((page) => page.lines)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(pages.slice(1).filter((page) => page.turns === 0)).toEqual([]);
});
