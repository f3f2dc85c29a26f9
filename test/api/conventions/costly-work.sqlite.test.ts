import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import http from 'node:http';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { sendOne, share } from '../shares/shared.ts';

const KEYED = 5;

describe('costly work on the main thread', () => {
  let scene: Scene;
  let team: Team;
  let small: Record<string, unknown>;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    const { name } = await team.domain();
    small = { from: `hello@${name}`, to: 'x@example.org', subject: 'Your order', text: 'It is on its way.' };
    expect((await scene.api('POST', '/emails', { key: team.key, body: small })).status).toBe(200);
  });
  afterAll(() => scene.close());

  /** Makes a few calls of a team, one after the other. */
  async function callsOfTheTeam(): Promise<void> {
    for (let n = 0; n < KEYED; n++) {
      expect((await scene.api('POST', '/emails', { key: team.key, body: small })).status).toBe(200);
      expect((await scene.api('GET', '/health')).status).toBe(200);
    }
  }

  it('large public pages: some of forty readers get 503, and API calls still proceed', async () => {
    const other = await scene.team();
    const { id } = await sendOne(scene, other, { html: '"'.repeat(200_000) });
    const path = await share(scene, other, id);
    expect((await get(scene.url + path)).status).toBe(200);
    const answered = new Map<number, number>();
    let isOver = false;
    const readers = Array.from({ length: 40 }, async () => {
      while (!isOver) {
        const { status } = await get(scene.url + path);
        answered.set(status, (answered.get(status) ?? 0) + 1);
      }
    });
    await expect.poll(() => answered.get(503) ?? 0).toBeGreaterThan(0);
    await callsOfTheTeam();
    isOver = true;
    await Promise.all(readers);
    expect((await get(scene.url + path)).status).toBe(200);
  });

  it('large bodies of one team do not delay a call of another', async () => {
    const other = await scene.team();
    const many = 12;
    const fields = Array.from({ length: 20_000 }, (_, n) => `"X-Field-${n}":"1"`).join(',');
    const body = `{"from":"a@example.org","to":"b@example.org","subject":"s","text":"t","headers":{${fields}}}`;
    let answered = 0;
    let isOver = false;
    const statuses = new Set<number>();
    const uploaders = Array.from({ length: many }, async () => {
      while (!isOver) {
        statuses.add((await scene.api('POST', '/emails', { key: other.key, body })).status);
        answered++;
      }
    });
    await expect.poll(() => answered, { interval: 1 }).toBeGreaterThan(0);
    const before = answered;
    await callsOfTheTeam();
    // With round robin, one of them passes per call; without it all of them do, twice, however long the database takes.
    expect((answered - before) / (2 * KEYED)).toBeLessThan(many / 2);
    isOver = true;
    await Promise.all(uploaders);
    expect([...statuses]).toEqual([400]);
  });

  it('checks of large broadcasts of one team do not delay a call of another', async () => {
    const other = await scene.team();
    const many = 6;
    const body = { from: 'a@example.org', subject: 'S', html: '<table><tr><td>'.repeat(20_000) };
    const { id } = (await scene.api('POST', '/broadcasts', { key: other.key, body })).body;
    let answered = 0;
    let isOver = false;
    const statuses = new Set<number>();
    const askers = Array.from({ length: many }, async (_, n) => {
      while (!isOver) {
        const [method, path] = n % 2 === 0 ? (['GET', 'checklist'] as const) : (['POST', 'preview'] as const);
        statuses.add((await scene.api(method, `/broadcasts/${id}/${path}`, { key: other.key })).status);
        answered++;
      }
    });
    await expect.poll(() => answered, { interval: 1 }).toBeGreaterThan(0);
    const before = answered;
    await callsOfTheTeam();
    expect((answered - before) / (2 * KEYED)).toBeLessThan(many / 3);
    isOver = true;
    await Promise.all(askers);
    expect([...statuses]).toEqual([200]);
  });
});

/** Reads only the status: the readers should cost as little as possible. */
function get(url: string): Promise<{ status: number }> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers: { 'user-agent': 'reader/1' } }, (response) => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode ?? 0 }));
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}
