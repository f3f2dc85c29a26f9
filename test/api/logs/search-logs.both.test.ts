import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertLogs } from '../../../src/tenancy/logs/logs.store.ts';
import { driver } from '../../rig/database.ts';
import { explainQueries, rowsRead } from '../../rig/plans.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

/** Writes requests, oldest first; every tenth was refused. */
async function fill(team: Team, endpoints: readonly string[]): Promise<void> {
  const { db, ids } = scene.app.world;
  const rows = endpoints.map((endpoint, n) => ({
    id: ids.uuid(),
    team_id: team.id,
    api_key_id: null,
    method: 'GET',
    endpoint,
    response_status: n % 10 === 9 ? 404 : 200,
    user_agent: null,
    request_body: null,
    response_body: null,
    created_at: null,
  }));
  await db.tx((tx) => insertLogs(tx, rows));
}

async function fetchPage(team: Team, query: Record<string, string>) {
  const { status, body } = await scene.api('GET', `/logs?${new URLSearchParams(query)}`, { key: team.key });
  expect(status, JSON.stringify(body)).toBe(200);
  return body as { has_more: boolean; data: { id: string; endpoint: string }[] };
}
const listEndpoints = ({ data }: { data: { endpoint: string }[] }): string[] => data.map(({ endpoint }) => endpoint);

describe('search of GET /logs', () => {
  let team: Team;
  beforeAll(async () => {
    team = await scene.team();
    await fill(team, [
      '/emails',
      '/emails/batch',
      '/emails/019a9c1e',
      '/domains',
      '/a_b',
      '/axb',
      '/suppressions/A%40b',
    ]);
  });

  it.each([
    ['/emails', ['/emails/019a9c1e', '/emails/batch', '/emails']],
    ['emails/', ['/emails/019a9c1e', '/emails/batch']],
    ['/emails/019A', []],
    ['batch', []],
    ['a_', ['/a_b']],
    ['/suppressions/A%', ['/suppressions/A%40b']],
    ['%', []],
    ["' or 1=1 --", []],
    ['\u{10ffff}', []],
  ])('finds the right requests for %j', async (search, found) => {
    expect(listEndpoints(await fetchPage(team, { search }))).toEqual(found);
  });

  it('finds what was just requested, without the query', async () => {
    const other = await scene.team();
    await scene.api('GET', '/topics?limit=1', { key: other.key });
    expect(listEndpoints(await fetchPage(other, { search: '/topics' }))).toEqual(['/topics']);
    expect(listEndpoints(await fetchPage(other, { search: '/emails' }))).toEqual([]);
  });

  it('takes 1 to 200 characters, of which one is not a space', async () => {
    expect(listEndpoints(await fetchPage(team, { search: '😀'.repeat(200) }))).toEqual([]);
    for (const search of ['', ' ', 'x'.repeat(201)]) {
      expect(await scene.api('GET', `/logs?search=${encodeURIComponent(search)}`, { key: team.key })).toMatchObject({
        status: 422,
        body: {
          name: 'invalid_parameter',
          message: expect.stringMatching(/^search must be 1 to 200 characters long and not blank; got /),
        },
      });
    }
  });
});

const FILLED = 14_000;
const FEW = 1300;
const endpoint = (n: number): string => `/${n < FEW ? 'few' : n % 2 === 0 ? 'rest' : 'many'}/${n}`;
const NEVER = { start_date: '2100-01-01T00:00:00Z' };

describe('search among many requests', () => {
  let team: Team;
  beforeAll(async () => {
    team = await scene.team();
    await fill(
      team,
      Array.from({ length: FILLED }, (_, n) => endpoint(n)),
    );
    const { db } = scene.app.world;
    await db.withKnex((knex) => knex.raw(driver === 'pg' ? 'vacuum analyze request_logs' : 'analyze'));
  });

  it.each<Record<string, string> & { search: string }>([
    { search: '/few' },
    { search: '/many' },
    { search: '/few', response_status: '404' },
    { search: '/many', response_status: '404' },
  ])('pages in both directions: %j', async (query) => {
    const all = Array.from({ length: FILLED }, (_, n) => FILLED - 1 - n)
      .filter((n) => query.response_status === undefined || n % 10 === 9)
      .map(endpoint)
      .filter((one) => one.startsWith(query.search));
    const first = await fetchPage(team, { ...query, limit: '100' });
    expect([first.has_more, listEndpoints(first)]).toEqual([true, all.slice(0, 100)]);
    const next = await fetchPage(team, { ...query, limit: '30', after: first.data.at(-1)?.id ?? '' });
    expect([next.has_more, listEndpoints(next)]).toEqual([all.length > 130, all.slice(100, 130)]);
    const back = await fetchPage(team, { ...query, limit: '7', before: next.data[0]?.id ?? '' });
    expect([back.has_more, listEndpoints(back)]).toEqual([true, all.slice(93, 100)]);
    expect(await fetchPage(team, { ...query, ...NEVER })).toMatchObject({ has_more: false, data: [] });
  });

  it('reads only the few entries that it finds, by an index', async () => {
    const { db } = scene.app.world;
    const plans = await explainQueries(db, () => fetchPage(team, { search: '/few' }), ' request_logs ', 'endpoint ');
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      expect(plan).toContain('request_logs_endpoint_start');
      expect(plan).not.toMatch(/Seq Scan on request_logs|SCAN request_logs|\(team_id=\?\)/);
      expect(rowsRead(plan)).toBeLessThanOrEqual(FEW);
    }
  });
});
