import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const DAY_MS = 24 * 3_600_000;

/** Starts in the middle of a month, so that no test runs into the next one by itself. */
const sceneWith = (plan: Record<string, number>, startAt = '2027-03-10T12:00:00Z'): Promise<Scene> =>
  startScene({ config: { plans: { standard: plan } }, roles: ['http'], startAt });

async function sender(scene: Scene) {
  const team = await scene.team();
  const { name } = await team.domain();
  const email = { from: `a@${name}`, to: 'x@example.org', subject: 'Hello', text: 'It works.' };
  const send = (fields: object = {}) => scene.api('POST', '/emails', { key: team.key, body: { ...email, ...fields } });
  const batch = (count: number, headers: Record<string, string> = {}) =>
    scene.api('POST', '/emails/batch', { key: team.key, body: Array.from({ length: count }, () => email), headers });
  return { team, send, batch };
}

const refusedBy = (name: string) => ({ status: 429, body: { statusCode: 429, name } });

describe('the quota', () => {
  it('of a day returns 429 daily_quota_exceeded for the next email, without retry-after', async () => {
    await using scene = await sceneWith({ daily_cap: 2 });
    const { send } = await sender(scene);
    expect([(await send()).status, (await send()).status]).toEqual([200, 200]);
    const refused = await send();
    expect(refused).toMatchObject(refusedBy('daily_quota_exceeded'));
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(refused.headers.get('ratelimit-remaining')).not.toBeNull();
    expect(refused.body.message).toBe('The plan of this team includes 2 emails a day, and 2 are used.');
  });

  it('of a day starts again at midnight UTC', async () => {
    await using scene = await sceneWith({ daily_cap: 1 }, '2027-03-10T23:59:59.000Z');
    const { send } = await sender(scene);
    expect((await send()).status).toBe(200);
    expect((await send()).status).toBe(429);
    scene.clock.advance(1000);
    expect((await send()).status).toBe(200);
  });

  it('of a month returns 429 monthly_quota_exceeded until the next month', async () => {
    await using scene = await sceneWith({ included_emails: 2 }, '2027-03-30T12:00:00Z');
    const { send } = await sender(scene);
    await send();
    scene.clock.advance(DAY_MS);
    await send();
    const refused = await send();
    expect(refused).toMatchObject(refusedBy('monthly_quota_exceeded'));
    expect(refused.headers.get('retry-after')).toBeNull();
    scene.clock.advance(DAY_MS);
    expect((await send()).status).toBe(200);
  });

  it('of the month is named if both are used up, because waiting for tomorrow would not help', async () => {
    await using scene = await sceneWith({ included_emails: 1, daily_cap: 1 });
    const { send } = await sender(scene);
    await send();
    expect(await send()).toMatchObject(refusedBy('monthly_quota_exceeded'));
  });

  it('of a plan without included emails refuses the first one', async () => {
    await using scene = await sceneWith({ included_emails: 0 });
    const { send } = await sender(scene);
    expect(await send()).toMatchObject(refusedBy('monthly_quota_exceeded'));
  });

  it('accepts a batch as a whole or not at all, and a refused batch leaves the room to others', async () => {
    await using scene = await sceneWith({ daily_cap: 5 });
    const { send, batch } = await sender(scene);
    expect((await batch(3)).status).toBe(200);
    for (const headers of [undefined, { 'x-batch-validation': 'permissive' }]) {
      const refused = await batch(3, headers);
      expect(refused).toMatchObject(refusedBy('daily_quota_exceeded'));
      expect(refused.body.message).toContain('3 are used; this request needs 3');
    }
    expect((await batch(2)).status).toBe(200);
    expect((await send()).status).toBe(429);
  });

  it('does not count refused sends or repeated answers', async () => {
    await using scene = await sceneWith({ daily_cap: 2 });
    const { team, send } = await sender(scene);
    await send({ to: 'no address' });
    await send({ from: 'a@nobody.example.com' });
    const sent = await send();
    const body = { ...(await scene.api('GET', `/emails/${sent.body.id}`, { key: team.key })).body };
    const once = { from: body.from, to: body.to, subject: body.subject, text: body.text };
    const headers = { 'idempotency-key': 'once' };
    const first = await scene.api('POST', '/emails', { key: team.key, body: once, headers });
    expect(await scene.api('POST', '/emails', { key: team.key, body: once, headers })).toMatchObject({
      status: 200,
      text: first.text,
    });
    expect((await send()).status).toBe(429);
  });

  it('leaves no file behind when it refuses an email', async () => {
    await using scene = await sceneWith({ included_emails: 1 });
    const { send, batch } = await sender(scene);
    const files = async () => {
      const names = await readdir(scene.dataDir, { recursive: true });
      return names.filter((name) => /^blobs.*(html|text|att_)/.test(name)).length;
    };
    await send();
    const before = await files();
    const attachments = [{ filename: 'a.txt', content: 'QQ==' }];
    expect(await send({ attachments })).toMatchObject(refusedBy('monthly_quota_exceeded'));
    expect(await send({ text: 'x'.repeat(100_000) })).toMatchObject(refusedBy('monthly_quota_exceeded'));
    expect(await batch(2)).toMatchObject(refusedBy('monthly_quota_exceeded'));
    expect(await files()).toBe(before);
  });

  it('is reported after errors in fields, and does not affect valid emails of a permissive batch', async () => {
    await using scene = await sceneWith({ included_emails: 2 });
    const { team, send } = await sender(scene);
    const sent = await send();
    const { from, to, subject, text } = (await scene.api('GET', `/emails/${sent.body.id}`, { key: team.key })).body;
    const good = { from, to, subject, text, attachments: [{ filename: 'a.txt', content: 'QQ==' }] };
    const body = [good, { ...good, to: 'no address' }, 'no email'];
    const headers = { 'x-batch-validation': 'permissive' };
    const mixed = await scene.api('POST', '/emails/batch', { key: team.key, body, headers });
    expect(mixed).toMatchObject({ status: 200, body: { errors: [{ index: 1 }, { index: 2 }] } });
    expect(mixed.body.data).toHaveLength(1);
    const attachments = [{ filename: 'a.txt', path: 'https://files.example.org/a.txt' }];
    expect((await send({ attachments, to: 'no address' })).status).toBe(400);
    expect(await send({ attachments })).toMatchObject(refusedBy('monthly_quota_exceeded'));
  });

  it('is not shared by two teams', async () => {
    await using scene = await sceneWith({ daily_cap: 1 });
    const one = await sender(scene);
    const other = await sender(scene);
    await one.send();
    expect((await one.send()).status).toBe(429);
    expect((await other.send()).status).toBe(200);
  });

  it('is used up exactly by a crowd of requests, however they share a commit', async () => {
    await using scene = await sceneWith({ daily_cap: 37 });
    const { send, batch } = await sender(scene);
    const answers = await Promise.all([
      ...Array.from({ length: 60 }, () => send()),
      ...Array.from({ length: 10 }, () => batch(3)),
    ]);
    const accepted = answers.reduce(
      (sum, { status, body }) => sum + (status === 200 ? (body.data?.length ?? 1) : 0),
      0,
    );
    expect(answers.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
    expect(accepted).toBe(37);
    const sql = "select used from usage_counters where period = '2027-03-10'";
    expect((await scene.app.world.db.get<{ used: number }>(sql))?.used).toBe(37);
  });
});

describe('a team above its quota, after a change to a smaller plan', () => {
  const shrink = (scene: Scene, team: Team) =>
    scene.app.world.db.run('update teams set plan_code = ? where id = ?', ['small', team.id]);

  it('cannot read the content of its emails until it is within its quota again', async () => {
    await using scene = await startScene({
      roles: ['http'],
      config: { plans: { small: { name: 'Small', included_emails: 1 } } },
    });
    const { team, send } = await sender(scene);
    const attachments = [{ filename: 'a.txt', content: 'QQ==' }];
    const { id } = (await send({ attachments })).body;
    const read = (path: string) => scene.api('GET', path, { key: team.key });
    await shrink(scene, team);
    expect((await read(`/emails/${id}`)).status).toBe(200);
    const attachment = (await read(`/emails/${id}/attachments`)).body.data[0].id as string;
    const shared = await scene.api('POST', `/emails/${id}/share`, { key: team.key });
    const link = await read(`/emails/${id}/attachments/${attachment}`);
    expect((await fetch(shared.body.url)).status).toBe(200);
    expect((await fetch(link.body.download_url)).status).toBe(200);
    await scene.app.world.db.run('update teams set plan_code = ? where id = ?', ['standard', team.id]);
    await send();
    await shrink(scene, team);
    const hidden = { status: 403, body: { statusCode: 403, name: 'email_above_quota' } };
    for (const path of [`/emails/${id}`, `/emails/${id}/attachments`, `/emails/${id}/attachments/${attachment}`]) {
      expect(await read(path), path).toMatchObject(hidden);
    }
    expect(await scene.api('POST', `/emails/${id}/share`, { key: team.key })).toMatchObject(hidden);
    // Links from before end too, like any expired link.
    expect((await fetch(shared.body.url)).status).toBe(404);
    expect((await fetch(link.body.download_url)).status).toBe(404);
    const list = await read('/emails');
    expect(list.body.data).toHaveLength(2);
    expect(list.body.data[0]).toMatchObject({ html: null, text: null, subject: 'Hello' });
    scene.clock.advance(32 * DAY_MS);
    expect((await read(`/emails/${id}`)).status).toBe(200);
    expect((await read('/emails')).body.data[0]).toMatchObject({ text: 'It works.' });
  });
});
