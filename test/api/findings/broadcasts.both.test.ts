import { expect, it } from 'vitest';
import { HOUR } from '../../flow/mail.ts';
import { startScene } from '../../rig/scene.ts';

it('a held broadcast is reported to its team by name and figures, to the operator by id, and to no other team', async () => {
  await using scene = await startScene({ roles: ['http', 'delivery'] });
  const team = await scene.team();
  const other = await scene.team();
  const operator = await scene.operator();
  const draft = { from: 'news@example.com', subject: 'News of November' };
  const { id } = (await scene.api('POST', '/broadcasts', { key: team.key, body: draft })).body;
  const detail = '12 of 150 emails bounced (8 %); the limit is 5 %';
  await scene.app.world.db.run(
    "update broadcasts set status = 'sent', held_reason = 'bounces', held_detail = ?, held_since = ? where id = ?",
    [detail, scene.clock.now(), id],
  );
  const since = new Date(scene.clock.now()).toISOString();
  const held = { code: 'broadcast_held', severity: 'warning', subjects: [id], since };
  const findings = async (path: string, key?: string): Promise<Record<string, unknown>[]> =>
    (await scene.api('GET', path, key === undefined ? {} : { key })).body.findings;
  expect(await findings('/findings', team.key)).toMatchObject([
    {
      ...held,
      summary: `The broadcast News of November is on hold: ${detail}.`,
      advice: { command: `rasket broadcasts get ${id}` },
    },
  ]);
  expect(await findings('/operator/findings', operator)).toMatchObject([
    { ...held, summary: `The broadcast ${id} is on hold: ${detail}.` },
  ]);
  expect(await findings('/ready')).toMatchObject([{ code: 'broadcast_held', summary: 'A broadcast is on hold.' }]);
  expect(await findings('/findings', other.key)).toEqual([]);
  await scene.api('POST', `/broadcasts/${id}/resume`, { key: team.key });
  expect(await findings('/ready')).toEqual([]);
});

it('a failed broadcast is reported for three days', async () => {
  await using scene = await startScene({ roles: ['http', 'delivery'] });
  const team = await scene.team();
  const other = await scene.team();
  const operator = await scene.operator();
  const draft = { from: 'news@example.com', subject: 'News of November' };
  const { id } = (await scene.api('POST', '/broadcasts', { key: team.key, body: draft })).body;
  const at = scene.clock.now();
  await scene.app.world.db.run(
    "update broadcasts set status = 'failed', failed_reason = 'topic_deleted', updated_at = ? where id = ?",
    [at, id],
  );
  const findings = async (path: string, key: string): Promise<Record<string, unknown>[]> =>
    (await scene.api('GET', path, { key })).body.findings;
  const failed = { code: 'broadcast_failed', severity: 'warning', subjects: [id], since: new Date(at).toISOString() };
  expect(await findings('/findings', team.key)).toMatchObject([
    { ...failed, summary: 'The broadcast News of November failed: topic_deleted.' },
  ]);
  expect(await findings('/operator/findings', operator)).toMatchObject([
    { ...failed, summary: `The broadcast ${id} failed: topic_deleted.` },
  ]);
  expect(await findings('/findings', other.key)).toEqual([]);
  scene.clock.advance(3 * 24 * HOUR);
  expect(await findings('/findings', team.key)).toEqual([]);
});

it('a scheduled broadcast to a segment with a deleted property is reported by name to its team and by id to the operator', async () => {
  await using scene = await startScene({ roles: ['http', 'delivery'] });
  const team = await scene.team();
  const other = await scene.team();
  const operator = await scene.operator();
  const call = async (method: string, path: string, body?: object) =>
    (await scene.api(method, path, { key: team.key, ...(body && { body }) })).body;
  const property = (await call('POST', '/contact-properties', { key: 'nomail', type: 'string' })).id;
  const filter = { not: [{ field: 'properties.nomail', op: 'eq', value: 'yes' }] };
  const segment = (await call('POST', '/segments', { name: 'Who wants mail', filter })).id;
  const draft = { from: 'news@example.com', subject: 'News of November', segment_id: segment };
  const { id } = await call('POST', '/broadcasts', draft);
  const at = scene.clock.now() + 5 * HOUR;
  await scene.app.world.db.run("update broadcasts set status = 'scheduled', scheduled_at = ? where id = ?", [at, id]);
  const findings = async (path: string, key?: string): Promise<Record<string, unknown>[]> =>
    (await scene.api('GET', path, key === undefined ? {} : { key })).body.findings;
  expect(await findings('/findings', team.key)).toEqual([]);
  expect(await call('DELETE', `/contact-properties/${property}`)).toMatchObject({
    segments: [{ id: segment, name: 'Who wants mail' }],
    broadcasts: [{ id, name: 'News of November' }],
  });
  const broken = { code: 'broadcast_segment_broken', severity: 'warning', subjects: [id] };
  expect(await findings('/findings', team.key)).toMatchObject([
    {
      ...broken,
      summary:
        'The broadcast News of November waits for the segment Who wants mail, whose filter uses something that was deleted.',
    },
  ]);
  const summary = `The broadcast ${id} waits for a segment whose filter uses something that was deleted.`;
  expect(await findings('/operator/findings', operator)).toMatchObject([{ ...broken, summary }]);
  expect(await findings('/findings', other.key)).toEqual([]);
  await call('POST', `/broadcasts/${id}/cancel`);
  expect(await findings('/findings', team.key)).toEqual([]);
});
