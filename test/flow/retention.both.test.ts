import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { administerTeam } from '../../src/tenancy/teams/index.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { DAY, removeExpired, traces, writeSent } from './expiry.ts';
import { HOUR, mailIn, MINUTE, type Mail } from './mail.ts';

const NONE = { emails: 0, events: 0, caught: 0 };
const GONE = {
  emails: 0,
  email_bodies: 0,
  email_attachments: 0,
  email_tags: 0,
  contents: 0,
  email_shares: 0,
  events: 0,
};

let scene: Scene;
const locateFolder = (owner: string): string => path.join(scene.dataDir, 'blobs', owner.slice(-2), owner);
const fetchStatus = async (mail: Mail, id: string) =>
  (await scene.api('GET', `/emails/${id}`, { key: mail.team.key })).status;
const give = (mail: Mail, plan: string) => administerTeam(scene.app.world, mail.team.id, { plan });

describe('data older than the plan’s retention', () => {
  beforeAll(async () => {
    scene = await startScene({
      config: {
        plans: { short: { name: 'Short', retention_days: 1 }, long: { name: 'Long', retention_days: 3650 } },
        delivery: { ambiguous_hours: 48 },
      },
    });
  });
  afterAll(() => scene.close());

  it.each([
    { where: 'rows', repeated: 10_000 },
    { where: 'files', repeated: 100_000 },
  ])(
    'is removed with everything that belongs to it, stored in $where, and returns 404',
    async ({ where, repeated }) => {
      const mail = await mailIn(scene);
      const content = Buffer.from('attached').toString('base64');
      const id = await mail.send('x@one.example', {
        html: `<p>${'long '.repeat(repeated)}</p>`,
        attachments: [{ filename: 'a.txt', content }],
        tags: [{ name: 'kind', value: 'receipt' }],
      });
      await scene.settled();
      await scene.api('POST', `/emails/${id}/share`, { key: mail.team.key, body: {} });
      const contents = where === 'rows' ? 2 : 0;
      expect(await traces(scene, [id])).toMatchObject({
        emails: 1,
        email_bodies: 1,
        email_attachments: 1,
        email_tags: 1,
        contents,
      });
      expect(existsSync(locateFolder(id))).toBe(where === 'files');
      scene.clock.advance(30 * DAY);
      expect(await removeExpired(scene)).toMatchObject(NONE);
      expect(await fetchStatus(mail, id)).toBe(200);
      scene.clock.advance(1);
      expect(await removeExpired(scene)).toMatchObject({ emails: 1 });
      expect(await fetchStatus(mail, id)).toBe(404);
      expect((await scene.api('GET', '/emails', { key: mail.team.key })).body.data).toEqual([]);
      expect(await traces(scene, [id])).toEqual(GONE);
      expect(existsSync(locateFolder(id))).toBe(false);
    },
  );

  it('is removed by the plan of its own team, with effect from a change of the plan', async () => {
    const mail = await mailIn(scene);
    const other = await mailIn(scene);
    const third = await mailIn(scene);
    await give(other, 'short');
    await give(third, 'long');
    const sent = await Promise.all([mail, other, third].map((each) => each.send('x@one.example')));
    await scene.settled();
    const statuses = async () => Promise.all([mail, other, third].map((each, i) => fetchStatus(each, sent[i] ?? '')));
    scene.clock.advance(DAY + 1);
    expect(await removeExpired(scene)).toMatchObject({ emails: 1 });
    expect(await statuses()).toEqual([200, 404, 200]);
    await give(mail, 'short');
    expect(await removeExpired(scene)).toMatchObject({ emails: 1 });
    expect(await statuses()).toEqual([404, 404, 200]);
    scene.clock.advance(31 * DAY);
    expect(await removeExpired(scene)).toMatchObject({ emails: 0 });
    expect(await statuses()).toEqual([404, 404, 200]);
  });

  it('of a team whose plan is not configured is kept, and the log says so once', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('x@one.example');
    await scene.settled();
    await scene.app.world.db.run('update teams set plan_code = ? where id = ?', ['gone', mail.team.id]);
    scene.clock.advance(31 * DAY);
    for (let runs = 0; runs < 2; runs++) await removeExpired(scene);
    expect(await fetchStatus(mail, id)).toBe(200);
    const warnings = scene.log.filter((line) => line.includes('is not in the configuration'));
    expect(warnings.filter((line) => line.includes(mail.team.id))).toHaveLength(1);
  });

  it('does not include suppressions, usage and metrics', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('permfail@one.example');
    await scene.settled();
    const read = async (what: string) => (await scene.api('GET', what, { key: mail.team.key })).body;
    const before = await read('/suppressions');
    expect(before.data).toMatchObject([{ email: 'permfail@one.example', source_id: id }]);
    const rows = async (table: string) =>
      (await scene.app.world.db.all(`select * from ${table} where team_id = ?`, [mail.team.id])).length;
    const counted = [await rows('usage_counters'), await rows('metric_counts')];
    scene.clock.advance(40 * DAY);
    expect(await removeExpired(scene)).toMatchObject({ emails: 1 });
    expect(await read('/suppressions')).toEqual(before);
    expect([await rows('usage_counters'), await rows('metric_counts')]).toEqual(counted);
    expect(await read(`/suppressions/permfail@one.example`)).toMatchObject({ source_id: id });
  });

  it('includes events of domains and suppressions, but not newer ones', async () => {
    const mail = await mailIn(scene);
    await mail.suppress('a@one.example');
    const of = async () =>
      (
        await scene.app.world.db.all<{ type: string }>('select type from events where team_id = ? order by id', [
          mail.team.id,
        ])
      ).map((row) => row.type);
    expect(await of()).toContain('domain.created');
    scene.clock.advance(30 * DAY);
    await mail.suppress('b@one.example');
    scene.clock.advance(1);
    await removeExpired(scene);
    expect(await of()).toEqual(['suppression.added']);
    expect((await scene.api('GET', `/domains/${mail.domain.id}`, { key: mail.team.key })).status).toBe(200);
  });

  it('is removed by a job that runs every minute', () => {
    expect(scene.app.jobs.find((job) => job.name === 'remove-expired')).toMatchObject({ schedule: '* * * * *' });
  });

  describe('is kept until it is finished, however old it is:', () => {
    let mail: Mail;
    beforeEach(async () => {
      mail = await mailIn(scene);
      await give(mail, 'short');
    });

    it('scheduled mail, whose age counts from its scheduled time', async () => {
      const at = scene.clock.now() + 30 * DAY;
      const id = await mail.send('x@one.example', { scheduled_at: new Date(at).toISOString() });
      scene.clock.advance(29 * DAY);
      expect(await removeExpired(scene)).toMatchObject({ emails: 0 });
      scene.clock.advance(DAY);
      await scene.settled();
      expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['x@one.example'] });
      scene.clock.advance(DAY);
      expect(await removeExpired(scene)).toMatchObject({ emails: 0 });
      scene.clock.advance(1);
      expect(await removeExpired(scene)).toMatchObject({ emails: 1 });
      expect(await traces(scene, [id])).toEqual(GONE);
    });

    it('canceled scheduled mail, whose age counts from its creation', async () => {
      const at = scene.clock.now() + 30 * DAY;
      const id = await mail.send('x@one.example', { scheduled_at: new Date(at).toISOString() });
      const canceled = await scene.api('POST', `/emails/${id}/cancel`, { key: mail.team.key });
      expect(canceled.status).toBe(200);
      scene.clock.advance(DAY + 1);
      expect(await removeExpired(scene)).toMatchObject({ emails: 1 });
      expect(await fetchStatus(mail, id)).toBe(404);
    });

    it('deferred mail, until its last retry', async () => {
      const id = await mail.send('tempfail@one.example');
      for (let hours = 0; hours < 47; hours++) {
        scene.clock.advance(HOUR);
        await scene.settled();
        expect(await removeExpired(scene)).toMatchObject({ emails: 0 });
      }
      expect((await mail.account(id)).state).toBe('delivery_delayed');
      scene.clock.advance(2 * HOUR);
      await scene.settled();
      expect((await mail.account(id)).state).toBe('bounced');
      expect(await removeExpired(scene)).toMatchObject({ emails: 1 });
    });

    it('mail in doubt', async () => {
      const id = await mail.send(['drop-after-dot@one.example', 'x@two.example']);
      await scene.settled();
      scene.clock.advance(40 * HOUR);
      // Mail to the other domain, which has the same mail server, may have waited since the connection was dropped.
      await scene.settled();
      expect(await removeExpired(scene)).toMatchObject({ emails: 0 });
      expect(await mail.account(id)).toMatchObject({ waiting: ['drop-after-dot@one.example'] });
      scene.clock.advance(8 * HOUR);
      await scene.settled();
      expect((await mail.account(id)).state).toBe('failed');
      expect(await removeExpired(scene)).toMatchObject({ emails: 1 });
    });

    it('mail that a node has claimed', async () => {
      const id = await mail.send('tempfail@one.example');
      await scene.settled();
      await scene.app.world.db.run('update deliveries set lease_owner = ?, due_at = ? where email_id = ?', [
        'another node',
        scene.clock.now() + 1000 * DAY,
        id,
      ]);
      scene.clock.advance(5 * DAY);
      expect(await removeExpired(scene)).toMatchObject({ emails: 0 });
      expect(await traces(scene, [id])).toMatchObject({ emails: 1, email_bodies: 1 });
    });

    it.each(['queued', 'scheduled'])('mail in the state %s, although it is not in the queue', async (state) => {
      const id = await mail.send('x@one.example');
      await scene.settled();
      await scene.app.world.db.run('update emails set last_event = ? where id = ?', [state, id]);
      scene.clock.advance(5 * DAY);
      expect(await removeExpired(scene)).toMatchObject({ emails: 0 });
      expect(await fetchStatus(mail, id)).toBe(200);
    });
  });
});

describe('a long backlog of removals', () => {
  beforeEach(async () => {
    scene = await startScene({ config: { plans: { short: { name: 'Short', retention_days: 1 } } }, roles: ['http'] });
  });
  afterEach(() => scene.close());

  it('is processed in parts of ten thousand, oldest first, and other work gets its turn in between', async () => {
    const mail = await mailIn(scene);
    const young = await writeSent(scene, mail.team.id, 10_300);
    scene.clock.advance(30 * DAY + MINUTE);
    const count = async () =>
      Number((await scene.app.world.db.get<{ n: number }>('select count(*) as n from email_bodies'))?.n);
    const first = removeExpired(scene);
    await mail.send('x@one.example');
    expect((await scene.api('GET', '/emails?limit=1', { key: mail.team.key })).body.data).toHaveLength(1);
    expect(await count()).toBeGreaterThan(301);
    expect(await first).toMatchObject({ emails: 10_000 });
    expect([await fetchStatus(mail, young[9_999] ?? ''), await fetchStatus(mail, young[10_000] ?? '')]).toEqual([
      404, 200,
    ]);
    expect(await removeExpired(scene)).toMatchObject({ emails: 300 });
    expect(await removeExpired(scene)).toMatchObject(NONE);
    expect(await count()).toBe(1);
  });

  it('does not get stuck at data that must stay', async () => {
    const mail = await mailIn(scene);
    await give(mail, 'short');
    await writeSent(scene, mail.team.id, 10_100, { scheduledAt: scene.clock.now() + 20 * DAY, state: 'scheduled' });
    scene.clock.advance(MINUTE);
    const [last = ''] = await writeSent(scene, mail.team.id, 1);
    scene.clock.advance(DAY + MINUTE);
    const removed = [await removeExpired(scene), await removeExpired(scene)];
    expect(removed.map((run) => run.emails)).toEqual([0, 1]);
    expect(await fetchStatus(mail, last)).toBe(404);
  });

  it('includes data that no longer has to stay, also when a run ended just after it', async () => {
    const mail = await mailIn(scene);
    await give(mail, 'short');
    await writeSent(scene, mail.team.id, 10_000, { scheduledAt: scene.clock.now() + 20 * DAY, state: 'scheduled' });
    scene.clock.advance(2 * DAY);
    expect(await removeExpired(scene)).toMatchObject({ emails: 0 });
    await scene.app.world.db.run("update emails set last_event = 'canceled'");
    const removed = [await removeExpired(scene), await removeExpired(scene)];
    expect(removed.reduce((sum, run) => sum + run.emails, 0)).toBe(10_000);
  });

  it('of one team does not delay the others', async () => {
    const large = await mailIn(scene);
    const small = await mailIn(scene);
    await writeSent(scene, large.team.id, 10_500);
    const [id = ''] = await writeSent(scene, small.team.id, 1);
    scene.clock.advance(31 * DAY);
    await removeExpired(scene);
    expect(await fetchStatus(small, id)).toBe(404);
  });

  it('of more teams than a run has batches takes two runs, and a run reads only where something has expired', async () => {
    for (let i = 0; i < 20; i++) await scene.team();
    const sent: string[] = [];
    for (let i = 0; i < 52; i++) sent.push(...(await writeSent(scene, (await scene.team()).id, 1)));
    scene.clock.advance(31 * DAY);
    const runs = [await removeExpired(scene), await removeExpired(scene), await removeExpired(scene)];
    expect(runs.map((run) => run.emails)).toEqual([50, 2, 0]);
    expect(await traces(scene, sent)).toEqual(GONE);
  });

  it('of one team whose blobs cannot be removed delays the others by one run at most', async () => {
    const first = await mailIn(scene);
    const second = await mailIn(scene);
    await writeSent(scene, first.team.id, 450);
    const [whole = ''] = await writeSent(scene, second.team.id, 1);
    const { blobs, db } = scene.app.world;
    await db.run('update email_bodies set text = null, text_in_blob = 1 where email_id <> ?', [whole]);
    const remove = blobs.remove;
    blobs.remove = () => Promise.reject(new Error('no such disk'));
    scene.clock.advance(31 * DAY);
    for (let runs = 0; runs < 2; runs++) await expect(removeExpired(scene)).rejects.toThrow('no such disk');
    blobs.remove = remove;
    expect(await fetchStatus(second, whole)).toBe(404);
  });

  it('is continued after a failed batch', async () => {
    const mail = await mailIn(scene);
    const ids = await writeSent(scene, mail.team.id, 450);
    await scene.app.world.db.run('update email_bodies set text = null, text_in_blob = 1 where email_id = ?', [
      ids[250] ?? '',
    ]);
    const { blobs } = scene.app.world;
    await blobs.put(`${ids[250]}/text`, Buffer.from('x'));
    const remove = blobs.remove;
    blobs.remove = () => Promise.reject(new Error('no such disk'));
    scene.clock.advance(31 * DAY);
    await expect(removeExpired(scene)).rejects.toThrow('no such disk');
    blobs.remove = remove;
    expect(await removeExpired(scene)).toMatchObject({ emails: 50 });
    expect(await traces(scene, ids)).toEqual(GONE);
  });

  // runs only with SQLite, because PostgreSQL looks after its own files
  it.skipIf(driver === 'pg')('releases its space in the database file', async () => {
    const mail = await mailIn(scene);
    const file = path.join(scene.dataDir, 'rasket.db');
    await writeSent(scene, mail.team.id, 8_000, { bodyChars: 3_000 });
    await scene.restart();
    const full = statSync(file).size;
    scene.clock.advance(31 * DAY);
    const { emails, pages } = await removeExpired(scene);
    expect(emails).toBe(8_000);
    expect(pages).toBeGreaterThan(5_000);
    const { free = 0 } = (await scene.app.world.db.get<{ free: number }>('pragma freelist_count')) ?? {};
    await scene.restart();
    expect(statSync(file).size).toBeLessThan(full / 4);
    expect(free).toBeLessThan(200);
    expect(await scene.app.world.db.get('pragma integrity_check')).toEqual({ integrity_check: 'ok' });
  });
});

describe('the development profile', () => {
  it('removes old captured mail with its blobs', async () => {
    scene = await startScene({ config: { delivery: { capture: true } } });
    const mail = await mailIn(scene);
    await mail.send('x@one.example');
    await scene.settled();
    const caught = async () => scene.app.world.db.all<{ id: string }>('select id from playground_messages');
    const [message] = await caught();
    expect(existsSync(locateFolder(message?.id ?? ''))).toBe(true);
    scene.clock.advance(30 * DAY + MINUTE);
    expect(await removeExpired(scene)).toMatchObject({ emails: 1, caught: 1 });
    expect(await caught()).toEqual([]);
    expect(existsSync(locateFolder(message?.id ?? ''))).toBe(false);
    await scene.close();
  });
});
