import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRemoval } from '../../../src/features/installation/upkeep/remove-expired.ts';
import type { AnyBody } from '../../rig/api.ts';
import type { SeenEvent } from '../../rig/events.ts';
import { MESSAGE, receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const DAY_MS = 24 * 3_600_000;

describe('received mail of a team', () => {
  let scene: Scene;
  beforeAll(async () => {
    const plan = { received_daily_cap: 3, received_storage_mb: 1, retention_days: 5 };
    scene = await startScene({ config: { plans: { standard: plan } } as never });
  });
  afterAll(() => scene.close());

  let count = 0;
  const fresh = (bytes = 0): string =>
    MESSAGE.replace('<question@', `<limit-${++count}@`).replace('Does it work?', 'x'.repeat(bytes));
  const read = async (team: Team, id: string) =>
    (await scene.api('GET', `/emails/receiving/${id}`, { key: team.key })).body;
  const storage = async (team: Team) => (await scene.api('GET', '/usage', { key: team.key })).body.received_storage;
  const crowded = (bytes: number): string => {
    const readers = Array.from({ length: 900 }, (_, n) => `Reader ${n} <reader-${n}@example.net>`);
    return [
      `From: ${'N'.repeat(2000)} <"some one"@example.org>`,
      'Reply-To: back@example.org',
      `To: ${readers.join(',\r\n ')}`,
      `Cc: ${'c'.repeat(bytes)}@example.net`,
      `Subject: ${'s'.repeat(bytes)}`,
      `Message-ID: <crowded-${++count}-${'m'.repeat(bytes)}@example.org>`,
      '',
      'Does it work?',
      '',
    ].join('\r\n');
  };
  let event: SeenEvent | undefined;
  async function arrived(team: Team, raw: string): Promise<AnyBody> {
    const id = await receiveMail(scene, team, { raw });
    [event] = await scene.events(id);
    const { body } = await scene.api('GET', '/emails/receiving?limit=100', { key: team.key });
    return body.data.find((one: { id: string }) => one.id === id);
  }
  async function hasContents(id: string): Promise<boolean> {
    const row = await scene.app.world.db.get('select name from contents where owner_id = ? limit 1', [id]);
    return row !== undefined || existsSync(path.join(scene.dataDir, 'blobs', id.slice(-2), id));
  }

  it('is dropped beyond the daily cap, with a record, and is accepted again the next day', async () => {
    const team = await scene.team();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await receiveMail(scene, team, { raw: fresh() }));
    const reasons = [];
    for (const id of ids) reasons.push((await read(team, id)).dropped_reason);
    expect(reasons).toEqual([null, null, null, 'daily_cap', 'daily_cap']);
    const dropped = await read(team, ids[4] ?? '');
    expect(dropped).toMatchObject({ html: null, text: null, attachments: [], raw: null, subject: 'A question' });
    expect(await hasContents(ids[4] ?? '')).toBe(false);
    expect((await scene.events(ids[4] ?? ''))[0]).toMatchObject({ data: { dropped_reason: 'daily_cap' } });
    scene.clock.advance(DAY_MS);
    expect((await read(team, await receiveMail(scene, team, { raw: fresh() }))).dropped_reason).toBeNull();
  });

  it('is dropped beyond the storage limit, until something is deleted', async () => {
    const team = await scene.team();
    const first = await receiveMail(scene, team, { raw: fresh(250_000) });
    const { used, limit } = await storage(team);
    expect(limit).toBe(1024 * 1024);
    expect(used).toBeGreaterThan(500_000);
    expect(await hasContents(first)).toBe(true);
    const full = await receiveMail(scene, team, { raw: fresh(300_000) });
    expect(await read(team, full)).toMatchObject({ dropped_reason: 'storage_quota', raw: null, text: null });
    expect(await storage(team)).toMatchObject({ used });
    expect(await scene.api('DELETE', `/emails/receiving/${first}`, { key: team.key })).toMatchObject({
      status: 200,
      body: { object: 'email', id: first, deleted: true },
    });
    expect(await storage(team)).toMatchObject({ used: 0 });
    expect(await hasContents(first)).toBe(false);
    expect(await read(team, first)).toMatchObject({ statusCode: 404 });
    expect((await scene.api('DELETE', `/emails/receiving/${first}`, { key: team.key })).status).toBe(404);
    scene.clock.advance(DAY_MS);
    expect((await read(team, await receiveMail(scene, team, { raw: fresh(300_000) }))).dropped_reason).toBeNull();
  });

  it('has its header fields truncated to a limit, and their size counted', async () => {
    const team = await scene.team();
    const listed = await arrived(team, crowded(100_000));
    const { used } = await storage(team);
    expect(listed).toMatchObject({ dropped_reason: null, reply_to: ['back@example.org'] });
    expect(listed.from).toMatch(/^N{350} <"some one"@example\.org>$/);
    expect([listed.subject.length, listed.message_id.length, listed.cc.length]).toEqual([998, 998, 0]);
    expect(listed.to[0]).toBe('Reader 0 <reader-0@example.net>');
    expect(listed.to.length).toBeGreaterThan(300);
    expect(listed.to.length).toBeLessThan(900);
    expect(event?.data).toMatchObject({ subject: listed.subject, to: listed.to, message_id: listed.message_id });
    const { raw } = await read(team, listed.id);
    const source = (await (await fetch(raw.download_url)).arrayBuffer()).byteLength;
    const { headers } = await read(team, listed.id);
    const others = source + Buffer.byteLength(JSON.stringify(headers)) + 'Does it work?\n'.length;
    expect(used - others).toBeGreaterThan(2 * JSON.stringify(listed.to).length);
  });

  it('is small if it was dropped, whatever its header says', async () => {
    const team = await scene.team();
    await receiveMail(scene, team, { raw: fresh(400_000) });
    const { used } = await storage(team);
    const listed = await arrived(team, crowded(100_000));
    expect(listed).toMatchObject({ dropped_reason: 'storage_quota', from: '"some one"@example.org' });
    expect(listed.subject).toBe('s'.repeat(200));
    expect(listed.to[0]).toBe('Reader 0 <reader-0@example.net>');
    expect(JSON.stringify(listed).length).toBeLessThan(4096);
    expect(JSON.stringify(event).length).toBeLessThan(4096);
    expect(await read(team, listed.id)).toMatchObject({ received_for: ['support@example.com'] });
    expect(await storage(team)).toMatchObject({ used });
  });

  it('never exceeds the storage when many messages arrive at once', async () => {
    const team = await scene.team();
    const ids = await Promise.all(Array.from({ length: 6 }, () => receiveMail(scene, team, { raw: fresh(150_000) })));
    const kept = [];
    for (const id of ids) if ((await read(team, id)).dropped_reason === null) kept.push(id);
    expect(kept).toHaveLength(3);
    expect((await storage(team)).used).toBeLessThanOrEqual(1024 * 1024);
    for (const id of ids) expect(await hasContents(id)).toBe(kept.includes(id));
  });

  it('is kept as long as the plan says, and then deleted with its files, events and storage', async () => {
    const team = await scene.team();
    const old = await receiveMail(scene, team, { raw: fresh() });
    scene.clock.advance(3 * DAY_MS);
    const young = await receiveMail(scene, team, { raw: fresh() });
    scene.clock.advance(2 * DAY_MS + 1);
    await createRemoval(scene.app.world)();
    expect(await read(team, old)).toMatchObject({ statusCode: 404 });
    expect([await hasContents(old), await hasContents(young)]).toEqual([false, true]);
    expect(await scene.events(old)).toEqual([]);
    expect(await read(team, young)).toMatchObject({ id: young });
    const one = (await storage(team)).used;
    await scene.api('DELETE', `/emails/receiving/${young}`, { key: team.key });
    expect([one > 0, (await storage(team)).used]).toEqual([true, 0]);
  });
});
