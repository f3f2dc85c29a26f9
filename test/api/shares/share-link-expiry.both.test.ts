import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forgetExpiredShares, removeEmailShares } from '../../../src/features/sharing/index.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { sendOne, share } from './shared.ts';

const HOUR_MS = 3_600_000;
const NEVER_MADE = `/share/rs_${'A'.repeat(32)}`;

describe('share links', () => {
  let scene: Scene;
  let team: Team;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
  });
  afterAll(() => scene.close());

  const fetchStatus = async (path: string) => (await scene.api('GET', path)).status;
  const loadCount = async (emailId: string): Promise<number> => {
    const sql = 'select count(*) as n from email_shares where email_id = ?';
    return Number((await scene.app.world.db.get<{ n: number }>(sql, [emailId]))?.n);
  };
  const revoke = (emailId: string, key = team.key) => scene.api('DELETE', `/emails/${emailId}/share`, { key });

  it('a share link expires exactly after expires_in', async () => {
    const { id } = await sendOne(scene, team);
    const path = await share(scene, team, id, { expires_in: '10m' });
    scene.clock.advance(600_000 - 1);
    expect(await fetchStatus(path)).toBe(200);
    scene.clock.advance(1);
    expect(await fetchStatus(path)).toBe(404);
  });

  it('a share link expires after 48 hours by default', async () => {
    const { id } = await sendOne(scene, team);
    const path = await share(scene, team, id);
    scene.clock.advance(48 * HOUR_MS - 1);
    expect(await fetchStatus(path)).toBe(200);
    scene.clock.advance(1);
    expect(await fetchStatus(path)).toBe(404);
  });

  it('DELETE /emails/{email_id}/share revokes every link of that email and no other', async () => {
    const { id } = await sendOne(scene, team);
    const other = await sendOne(scene, team);
    const paths = [await share(scene, team, id), await share(scene, team, id)];
    const kept = await share(scene, team, other.id);
    expect(await revoke(id)).toMatchObject({ status: 200, body: { object: 'email', id, revoked: 2 } });
    for (const path of paths) expect(await fetchStatus(path)).toBe(404);
    expect(await fetchStatus(kept)).toBe(200);
    expect(await revoke(id)).toMatchObject({ status: 200, body: { object: 'email', id, revoked: 0 } });
    expect(await fetchStatus(await share(scene, team, id))).toBe(200);
  });

  it('an expired link is not counted as revoked', async () => {
    const { id } = await sendOne(scene, team);
    await share(scene, team, id, { expires_in: '1s' });
    scene.clock.advance(1000);
    expect((await revoke(id)).body.revoked).toBe(0);
    expect(await loadCount(id)).toBe(0);
  });

  it('another team cannot revoke a link, and does not learn that the email exists', async () => {
    const { id } = await sendOne(scene, team);
    const path = await share(scene, team, id);
    const stranger = await scene.team();
    expect(await revoke(id, stranger.key)).toMatchObject({ status: 404, body: { name: 'not_found' } });
    const sending = await revoke(id, await team.sendingKey());
    expect(sending).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
    expect(await fetchStatus(path)).toBe(200);
  });

  it('an expired link looks the same as an unknown or revoked one, to programs and to browsers', async () => {
    const { id } = await sendOne(scene, team);
    const expired = await share(scene, team, id, { expires_in: '1s' });
    scene.clock.advance(1000);
    const revoked = await share(scene, team, id);
    await revoke(id);
    const strange = ['/share/x', '/share/..%2f', '/share/%F0%9F%98%80', `/share/${'a'.repeat(5000)}`, `${expired}0`];
    for (const accept of ['application/json', '*/*', 'text/html,application/xhtml+xml;q=0.9']) {
      const ask = async (path: string) => comparable(await askRaw(scene, path, accept));
      const unknown = await ask(NEVER_MADE);
      expect(unknown.status).toBe(404);
      for (const path of [expired, revoked, ...strange]) expect(await ask(path), path).toEqual(unknown);
    }
  });

  it('an unknown link returns JSON to programs and a page to browsers', async () => {
    const program = await scene.api('GET', NEVER_MADE);
    expect(program).toMatchObject({ status: 404, body: { statusCode: 404, name: 'not_found' } });
    const browser = await askRaw(scene, NEVER_MADE, 'text/html');
    expect(browser.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(browser.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(browser.headers.get('cache-control')).toBe('no-store');
    expect(browser.text).toContain('This link does not work');
  });

  it('a share link is removed with its email', async () => {
    const { id } = await sendOne(scene, team);
    const path = await share(scene, team, id);
    await scene.app.world.db.run('delete from emails where id = ?', [id]);
    expect(await fetchStatus(path)).toBe(404);
  });

  it('share links are removed in the transaction that removes their emails', async () => {
    const one = await sendOne(scene, team);
    const two = await sendOne(scene, team);
    const kept = await sendOne(scene, team);
    for (const { id } of [one, two, kept]) await share(scene, team, id);
    const { db } = scene.app.world;
    expect(await removeEmailShares(db, [])).toEqual([]);
    expect(await db.tx((tx) => removeEmailShares(tx, [one.id, two.id]))).toHaveLength(2);
    expect([await loadCount(one.id), await loadCount(two.id), await loadCount(kept.id)]).toEqual([0, 0, 1]);
  });

  it('the sweep deletes expired links and nothing else', async () => {
    const { id } = await sendOne(scene, team);
    await forgetExpiredShares(scene.app.world);
    await share(scene, team, id, { expires_in: '1 hour' });
    const path = await share(scene, team, id, { expires_in: '2 hours' });
    scene.clock.advance(HOUR_MS);
    expect(await scene.app.jobs.find((job) => job.name === 'forget-expired-shares')?.run()).toBeGreaterThan(0);
    expect(await loadCount(id)).toBe(1);
    expect(await fetchStatus(path)).toBe(200);
  });
});

/** Sends a request without the contract check, which expects errors as JSON, while this one may be a page. */
async function askRaw(scene: Scene, path: string, accept: string): Promise<ApiAnswer> {
  const response = await fetch(scene.url + path, { headers: { accept, 'user-agent': 'rasket-tests/1' } });
  return { status: response.status, text: await response.text(), headers: response.headers, body: undefined };
}

function comparable({ status, text, headers }: ApiAnswer): { status: number; text: string; headers: string[][] } {
  const same = [...headers].filter(
    ([name]) => !['x-request-id', 'date'].includes(name) && !name.startsWith('ratelimit'),
  );
  return { status, text, headers: same };
}
