import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashToken } from '../../../src/platform/secrets/index.ts';
import { createShare } from '../../../src/features/sharing/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { sendOne, share } from './shared.ts';

const HOUR_MS = 3_600_000;

describe('POST /emails/{email_id}/share', () => {
  let scene: Scene;
  let team: Team;
  let emailId: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    emailId = (await sendOne(scene, team)).id;
  });
  afterAll(() => scene.close());

  const create = (body?: unknown, key = team.key, id = emailId) =>
    scene.api('POST', `/emails/${id}/share`, { key, body });
  const loadRow = async (path: string) =>
    scene.app.world.db.get<{ token_hash: string; email_id: string; created_at: number; expires_at: number }>(
      'select * from email_shares where token_hash = ?',
      [hashToken(path.replace('/share/', ''))],
    );

  it('returns the email’s id and a link on this server with 192 random bits', async () => {
    const answer = await create({ expires_in: '2 hours' });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ object: 'email', id: emailId, url: expect.any(String) });
    expect(answer.body.url).toMatch(new RegExp(`^${scene.url}/share/rs_[A-Za-z0-9_-]{32}$`));
  });

  it('creates another link each time, and all of them work', async () => {
    const paths = [await share(scene, team, emailId), await share(scene, team, emailId)];
    expect(new Set(paths).size).toBe(2);
    for (const path of paths) expect((await scene.api('GET', path)).status).toBe(200);
  });

  it.each([
    ['no bytes at all', undefined],
    ['an empty object', {}],
  ])('accepts %s as a body, and then the link works for 48 hours', async (_, body) => {
    const row = await loadRow(await share(scene, team, emailId, body));
    expect(row).toMatchObject({ email_id: emailId });
    expect((row?.expires_at ?? 0) - (row?.created_at ?? 0)).toBe(48 * HOUR_MS);
  });

  it.each([
    ['1s', 1000],
    ['10m', 600_000],
    ['2 hours', 2 * HOUR_MS],
    ['1 day', 24 * HOUR_MS],
    ['48 hours', 48 * HOUR_MS],
    ['172800 seconds', 48 * HOUR_MS],
  ])('accepts expires_in %s', async (text, ms) => {
    const row = await loadRow(await share(scene, team, emailId, { expires_in: text }));
    expect(row?.created_at).toBe(scene.clock.now());
    expect((row?.expires_at ?? 0) - (row?.created_at ?? 0)).toBe(ms);
  });

  it.each(['', '0s', '-1h', '1.5h', '1w', '10', '49 hours', '172801s', '3 days', `${'9'.repeat(5000)}d`])(
    'refuses expires_in %.20s and names the limit',
    async (text) => {
      const answer = await create({ expires_in: text });
      expect(answer).toMatchObject({ status: 400, body: { name: 'validation_error' } });
      expect(answer.body.errors).toEqual([{ path: 'expires_in', message: expect.stringContaining('48 hours') }]);
      expect(answer.text.length).toBeLessThan(1000);
    },
  );

  it.each([7, null, true, ['1h'], { hours: 1 }])('refuses expires_in of another type (%j)', async (value) => {
    const answer = await create({ expires_in: value });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'expires_in' }] } });
    expect(answer.body.message).toContain('48 hours');
  });

  it('refuses unknown fields, each by name', async () => {
    const answer = await create({ expires: '1h', images: true });
    expect(answer).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toEqual(['expires', 'images']);
  });

  it('returns the same 404 for another team’s email and an unknown one', async () => {
    const stranger = await scene.team();
    const foreign = await create({}, stranger.key);
    const absent = await create({}, stranger.key, randomUUID());
    expect(foreign).toMatchObject({ status: 404, body: { name: 'not_found' } });
    expect(foreign.text).toBe(absent.text);
    expect(await create({}, team.key, 'no-uuid')).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
  });

  it('requires full_access', async () => {
    const answer = await create({}, await team.sendingKey());
    expect(answer).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
  });

  it('stores the token nowhere in the database or the log', async () => {
    const path = await share(scene, team, emailId);
    expect((await scene.api('GET', path)).status).toBe(200);
    const token = path.replace('/share/', '');
    const row = await loadRow(path);
    expect(row?.token_hash).toMatch(/^[0-9a-f]{64}$/);
    await scene.app.world.commits.settled();
    const { db } = scene.app.world;
    for (const table of await listTables(scene)) {
      const rows = await db.all(`select * from ${table}`);
      expect(JSON.stringify(rows).includes(token), table).toBe(false);
    }
    expect(scene.log.some((line) => line.includes(token))).toBe(false);
  });

  it('returns a link below the public address of the installation', async () => {
    const store = { ...scene.app.world, origin: () => 'https://mail.example.com' };
    const ctx = { store, teamId: team.id, actor: { kind: 'job' as const, name: 'test' }, requestId: 'r' };
    const made = await createShare(ctx, emailId, {});
    expect(made.url).toMatch(/^https:\/\/mail\.example\.com\/share\/rs_[\w-]{32}$/);
  });
});

async function listTables(scene: Scene): Promise<string[]> {
  const { db } = scene.app.world;
  const sql =
    db.dialect === 'pg'
      ? "select table_name as name from information_schema.tables where table_schema = 'public'"
      : "select name from sqlite_master where type = 'table'";
  const tables = (await db.all<{ name: string }>(sql)).map(({ name }) => name);
  expect(tables).toContain('email_shares');
  return tables;
}
