// a topic with quiet hours --> broadcasts, automations and mail in the queue wait until they end where the contact is
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitingOfBroadcast } from '../../src/mail/queue/index.ts';
import { supply } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { arrived, desk, mail } from './automations-desk.ts';
import { campaignIn, POSTAL_ADDRESS, type Campaign } from './campaign.ts';
import { HOUR, MINUTE } from './mail.ts';

// 20:30 in Berlin, 14:30 in New York, and the hours are quiet from 21:00 to 08:00.
const START = '2026-11-30T19:30:00Z';
const QUIET = { from: '21:00', to: '08:00' };

const names = (scene: Scene, subject: string): string[] =>
  arrived(scene, subject)
    .map((address) => address.replace(/@.*/, ''))
    .toSorted();

async function goTo(scene: Scene, end: string): Promise<void> {
  const ms = Date.parse(end) - scene.clock.now();
  scene.clock.advance(ms);
  await scene.settled();
}

async function addContacts(campaign: Campaign, zones: Readonly<Record<string, string | null>>): Promise<void> {
  for (const [name, timezone] of Object.entries(zones)) {
    const contact = { email: `${name}@one.example`, ...(timezone !== null && { properties: { timezone } }) };
    expect((await campaign.call('POST', '/contacts', contact)).status).toBe(201);
  }
}

async function campaignWithTopic(scene: Scene, more: object = { quiet_hours: QUIET }) {
  const campaign = await campaignIn(scene);
  await campaign.call('POST', '/contact-properties', { key: 'timezone', type: 'string' });
  const topicId = await campaign.make('/topics', { name: 'Weekly', default_subscription: 'opt_in', ...more });
  return { campaign, topicId };
}

describe('a broadcast to a topic with quiet hours', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ startAt: START });
  });
  afterAll(() => scene.close());

  it('a broadcast to a topic with quiet hours reaches contacts who have none now, and each of the others once, when theirs end', async () => {
    const { campaign, topicId } = await campaignWithTopic(scene);
    await addContacts(campaign, {
      berlin: 'Europe/Berlin',
      paris: 'europe/paris',
      moves: 'America/New_York',
      york: 'America/New_York',
      tokyo: 'Asia/Tokyo',
      none: null,
    });
    await goTo(scene, '2026-11-30T20:30:00Z');
    const id = await campaign.broadcast({ subject: 'Zones', topic_id: topicId });
    await scene.settled();
    expect(names(scene, 'Zones')).toEqual(['moves', 'none', 'york']);
    expect(await campaign.get(id)).toMatchObject({
      status: 'sending',
      waiting_reason: 'quiet_hours',
      next_at: '2026-11-30T23:00:00.000Z',
      recipients: 3,
      total: 6,
    });
    scene.clock.advance(MINUTE);
    await campaign.call('PATCH', '/contacts/moves@one.example', { properties: { timezone: 'Asia/Tokyo' } });
    await addContacts(campaign, { late: 'Asia/Tokyo' });
    await goTo(scene, '2026-11-30T22:59:00Z');
    expect(names(scene, 'Zones')).toHaveLength(3);
    await goTo(scene, '2026-11-30T23:01:00Z');
    // Eight in the morning in Tokyo; a contact that was added after the broadcast began does not get it.
    expect(names(scene, 'Zones')).toEqual(['moves', 'none', 'tokyo', 'york']);
    expect(await campaign.get(id)).toMatchObject({ next_at: '2026-12-01T07:00:00.000Z' });
    await scene.restart();
    await goTo(scene, '2026-12-01T07:01:00Z');
    expect(names(scene, 'Zones')).toEqual(['berlin', 'moves', 'none', 'paris', 'tokyo', 'york']);
    expect(await campaign.get(id)).toMatchObject({
      status: 'sent',
      recipients: 6,
      waiting_reason: null,
      next_at: null,
    });
  });
});

it('a broadcast at a local hour that is quiet reaches each contact once, after its quiet hours', async () => {
  await using scene = await startScene({ startAt: '2026-11-30T10:00:00Z' });
  const { campaign, topicId } = await campaignWithTopic(scene);
  await addContacts(campaign, { berlin: 'Europe/Berlin', york: 'America/New_York', none: null });
  const id = await campaign.broadcast({
    subject: 'Evening',
    topic_id: topicId,
    scheduled_at: new Date(scene.clock.now() + 12 * HOUR).toISOString(),
    local_time: true,
  });
  // The last of them has its hour at 03:00 UTC, and its quiet hours end at 13:00.
  for (let hour = 0; hour < 20; hour++) {
    scene.clock.advance(HOUR);
    await scene.settled();
  }
  expect(names(scene, 'Evening')).toEqual([]);
  for (let hour = 0; hour < 10; hour++) {
    scene.clock.advance(HOUR);
    await scene.settled();
  }
  expect(names(scene, 'Evening')).toEqual(['berlin', 'none', 'york']);
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 3 });
});

describe('mail with a topic that has quiet hours', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ startAt: '2026-11-30T20:30:00Z', config: { delivery: { retry_minutes: [60] } } });
  });
  afterAll(() => scene.close());

  it('mail with a topic that has quiet hours waits in the queue when they begin, and says why', async () => {
    const { campaign, topicId } = await campaignWithTopic(scene);
    await addContacts(campaign, { tempfail: null });
    const id = await campaign.broadcast({ subject: 'Queued', topic_id: topicId });
    await scene.settled();
    const [email] = (await campaign.read('/emails')).data as { id: string }[];
    const attempts = () => campaign.read(`/emails/${email?.id}/attempts`) as Promise<Record<string, unknown[]>>;
    expect((await attempts()).data).toHaveLength(1);
    await goTo(scene, '2026-11-30T21:31:00Z');
    await goTo(scene, '2026-12-01T07:59:00Z');
    expect((await attempts()).data).toHaveLength(1);
    expect((await attempts()).pending).toMatchObject([
      {
        state: 'waiting',
        until: '2026-12-01T08:00:00.000Z',
        waits_because:
          'the topic "Weekly" has quiet hours from 21:00 to 08:00 where the contact is, which end at 2026-12-01T08:00:00.000Z',
      },
    ]);
    await goTo(scene, '2026-12-01T08:01:00Z');
    expect((await attempts()).data).toHaveLength(2);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent' });
  });

  it('mail with a topic that has quiet hours that waits in the queue does not count towards the emails that its broadcast may have there', async () => {
    const { campaign, topicId } = await campaignWithTopic(scene, { quiet_hours: { from: '08:30', to: '09:30' } });
    await addContacts(campaign, { first: null, second: null });
    await scene.app.queue?.stop(0);
    const id = await campaign.broadcast({ subject: 'Counted', topic_id: topicId });
    await scene.settled();
    const { db } = scene.app.world;
    expect(await waitingOfBroadcast(db, id, 10)).toBe(2);
    await goTo(scene, '2026-12-01T08:31:00Z');
    await scene.restart();
    await scene.settled();
    expect(names(scene, 'Counted')).toEqual([]);
    expect(await waitingOfBroadcast(scene.app.world.db, id, 10)).toBe(0);
    await goTo(scene, '2026-12-01T09:31:00Z');
    expect(names(scene, 'Counted')).toEqual(['first', 'second']);
  });

  it('mail with a topic that has quiet hours is sent at once if it is transactional', async () => {
    const { campaign, topicId } = await campaignWithTopic(scene, { quiet_hours: { from: '00:00', to: '23:59' } });
    const from = `a@${campaign.domain.name}`;
    const sent = { from, to: 'direct@one.example', subject: 'Direct', text: 'Hello', topic_id: topicId };
    expect((await campaign.call('POST', '/emails', sent)).status).toBe(200);
    await scene.settled();
    expect(names(scene, 'Direct')).toEqual(['direct']);
  });

  it('mail with a topic that has quiet hours of an automation waits, and the run and a dry run show why', async () => {
    const has = await supply(scene);
    const { must, automate, send, run } = desk(scene, has);
    await must('PATCH', '/team', { postal_address: POSTAL_ADDRESS });
    await must('PATCH', `/topics/${has.topic}`, { quiet_hours: { from: '00:00', to: '23:59' } });
    await must('PATCH', `/contacts/${has.contact}/topics`, [{ id: has.topic, subscription: 'opt_in' }]);
    const variables = { PRODUCT: 'Tea' };
    const waiting = await automate(mail('quiet', has, variables, { topic_id: has.topic, subject: 'Quiet' }));
    await send();
    await scene.settled();
    expect(await run(waiting)).toMatchObject({
      status: 'running',
      by: {
        quiet: {
          status: 'waiting',
          output: { reason: expect.stringContaining('quiet hours from 00:00 to 23:59 where the contact is') },
        },
      },
    });
    const dry = await must('POST', `/automations/${waiting}/dry-run`, { contact_id: has.contact });
    expect(JSON.stringify(dry)).toContain('quiet hours from 00:00 to 23:59');
    expect(arrived(scene, 'Quiet')).toHaveLength(0);
    await goTo(scene, '2026-12-01T23:59:30Z');
    scene.clock.advance(MINUTE);
    await scene.settled();
    expect(arrived(scene, 'Quiet')).toHaveLength(1);
  });

  it('mail with a topic that has quiet hours waits for hours that end when the clocks were set back', async () => {
    await using night = await startScene({ startAt: '2026-10-25T00:10:00Z' });
    const { campaign, topicId } = await campaignWithTopic(night, { quiet_hours: { from: '01:00', to: '02:30' } });
    await addContacts(campaign, { berlin: 'Europe/Berlin' });
    // 02:40 in summer time is past the end; 02:10 in winter time, half an hour later, is quiet again.
    night.clock.advance(HOUR);
    const id = await campaign.broadcast({ subject: 'Back', topic_id: topicId });
    await night.settled();
    expect(await campaign.get(id)).toMatchObject({ next_at: '2026-10-25T01:30:00.000Z' });
    await goTo(night, '2026-10-25T01:31:00Z');
    expect(names(night, 'Back')).toEqual(['berlin']);
  });
});
