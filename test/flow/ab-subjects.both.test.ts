import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { HOUR, MINUTE } from './mail.ts';
import { follow, publishTracking, readMail } from './reader.ts';

const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `reader${i}@one.example`);

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { tracking: { scheme: 'http' } } });
});
afterAll(() => scene.close());

/** Each contact is in one half of the test or in neither by a hash of its id: with 90, that a half is empty is seen once in 80 billion. */
async function trackedCampaign(contacts: number): Promise<Campaign> {
  const campaign = await campaignIn(scene);
  await publishTracking(scene, campaign.team, campaign.domain.id, { click_tracking: true });
  await campaign.addContacts(many(contacts));
  return campaign;
}

const testing = (name: string, more: object = {}) => ({
  subject: `${name} A`,
  html: '<a href="https://example.com/new">New</a>',
  ab: { subjects: [`${name} B`], test_percent: 50, wait_minutes: 60, ...more },
});

/** Returns the messages that arrived with a subject; `listAddresses` returns their recipients. */
const arrived = (subject: string) => scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`));
const listAddresses = (...subjects: string[]) =>
  subjects.flatMap((subject) => arrived(subject).flatMap(({ rcptTo }) => rcptTo)).sort();

/** People click, each once, some while after it arrived. */
async function click(subject: string, times: number): Promise<void> {
  scene.clock.advance(5 * MINUTE);
  for (const { data } of arrived(subject).slice(0, times)) {
    const { links } = await readMail(data);
    const link = links.find((one) => one.includes('/c/')) ?? '';
    expect((await follow(scene.url, link)).status).toBe(302);
  }
  await scene.app.tracking?.settled();
  // After a minute it is known that they belong to no burst, as machines make it.
  scene.clock.advance(MINUTE);
  await scene.app.tracking?.settled();
  await scene.settled();
}

const wait = async (ms: number) => {
  scene.clock.advance(ms);
  await scene.settled();
};

describe('a broadcast that tests subjects', () => {
  it('continues with the subject that was clicked most, and each contact gets it once', async () => {
    const campaign = await trackedCampaign(110);
    const id = await campaign.broadcast(testing('Most'));
    await scene.settled();
    const a = arrived('Most A').length;
    const b = arrived('Most B').length;
    expect(Math.min(a, b)).toBeGreaterThan(2);
    expect(a + b).toBeLessThan(110);
    await click('Most A', 1);
    await click('Most B', 2);
    const seen = await campaign.get(id);
    expect(seen).toMatchObject({
      status: 'sending',
      waiting_reason: 'ab_test',
      recipients: a + b,
      total: 110,
      ab: {
        variants: [
          { subject: 'Most A', recipients: a, clicked: 1 },
          { subject: 'Most B', recipients: b, clicked: 2 },
        ],
        winner: null,
        decided_by: null,
        decides_at: seen.next_at,
      },
    });
    await wait(HOUR);
    expect(listAddresses('Most A', 'Most B')).toEqual(many(110).sort());
    expect(arrived('Most A')).toHaveLength(a);
    const done = await campaign.get(id);
    expect(done).toMatchObject({ status: 'sent', recipients: 110, next_at: null, waiting_reason: null });
    expect(done.ab).toMatchObject({ winner: 'Most B', decided_by: 'clicks' });
    expect(done).toMatchObject({ opens_measured: false });
    expect(done).not.toHaveProperty('clicks_measured');
  });

  it.each([
    ['Tie', 1, 'tie'],
    ['None', 0, 'no_clicks'],
  ])('continues with the first subject when none is better: %s', async (name, clicks, decidedBy) => {
    const campaign = await trackedCampaign(90);
    const id = await campaign.broadcast(testing(name));
    await scene.settled();
    await click(`${name} B`, clicks);
    await click(`${name} A`, clicks);
    const b = arrived(`${name} B`).length;
    await wait(HOUR);
    expect(arrived(`${name} B`)).toHaveLength(b);
    expect(listAddresses(`${name} A`, `${name} B`)).toEqual(many(90).sort());
    expect((await campaign.get(id)).ab).toMatchObject({ winner: `${name} A`, decided_by: decidedBy });
  });

  it('an A/B test continues with the first subject when the domain tracks nothing, and says that opens and clicks are not measured', async () => {
    const campaign = await trackedCampaign(20);
    await campaign.call('PATCH', `/domains/${campaign.domain.id}`, { open_tracking: false, click_tracking: false });
    const id = await campaign.broadcast({ ...testing('Blind'), send: false });
    expect(await campaign.get(id)).not.toHaveProperty('opens_measured');
    await campaign.call('POST', `/broadcasts/${id}/send`);
    await scene.settled();
    expect(await campaign.get(id)).toMatchObject({ opens_measured: false, clicks_measured: false });
    await wait(HOUR);
    const { ab } = await campaign.get(id);
    expect(ab).toMatchObject({ winner: 'Blind A', decided_by: 'not_measured' });
  });

  it('decides once, so that later clicks change nothing, through a hold and a restart', async () => {
    const campaign = await trackedCampaign(90);
    const id = await campaign.broadcast(testing('Once'));
    await scene.settled();
    await click('Once B', 1);
    const a = arrived('Once A').length;
    const b = arrived('Once B').length;
    // The quota ends between the decision and the first page of the others.
    const { db } = scene.app.world;
    const use = "insert into usage_counters (team_id, period, kind, used) values (?, ?, 'marketing', 1000000000)";
    const month = new Date(scene.clock.now() + HOUR).toISOString().slice(0, 7);
    await db.run("delete from usage_counters where team_id = ? and kind = 'marketing'", [campaign.team.id]);
    await db.run(use, [campaign.team.id, month]);
    await wait(HOUR);
    expect(await campaign.get(id)).toMatchObject({ held: { reason: 'quota' }, ab: { winner: 'Once B' } });
    await click('Once A', 3);
    await scene.restart();
    await scene.app.world.db.run("delete from usage_counters where team_id = ? and kind = 'marketing'", [
      campaign.team.id,
    ]);
    expect((await campaign.call('POST', `/broadcasts/${id}/resume`)).status).toBe(200);
    await scene.settled();
    expect([arrived('Once A').length, arrived('Once B').length]).toEqual([a, 90 - a]);
    expect((await campaign.get(id)).ab).toMatchObject({
      winner: 'Once B',
      variants: [{ clicked: 0 }, { recipients: b, clicked: 1 }],
    });
  });

  it('completes its test after its last page, and continues to wait after a restart', async () => {
    const campaign = await trackedCampaign(30);
    const id = await campaign.broadcast({ ...testing('Slow'), rate_per_minute: 24 });
    await scene.settled();
    await scene.restart();
    for (let i = 0; i < 20; i++) await wait(5000);
    expect(await campaign.get(id)).toMatchObject({ waiting_reason: 'ab_test' });
    await scene.restart();
    await wait(HOUR);
    for (let i = 0; i < 30; i++) await wait(5000);
    expect(listAddresses('Slow A', 'Slow B')).toEqual(many(30).sort());
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 30 });
  });

  it('can be canceled during the wait, and is held and resumed when the wait is long over', async () => {
    const campaign = await trackedCampaign(40);
    const canceled = await campaign.broadcast(testing('Gone'));
    const held = await campaign.broadcast(testing('Held'));
    await scene.settled();
    const tested = listAddresses('Gone A', 'Gone B').length;
    expect((await campaign.call('POST', `/broadcasts/${canceled}/cancel`)).status).toBe(200);
    await scene.app.broadcasts?.stop(0);
    scene.clock.advance(9 * HOUR);
    await scene.restart();
    await scene.settled();
    expect(await campaign.get(canceled)).toMatchObject({ status: 'canceled', recipients: tested, next_at: null });
    expect(await campaign.get(held)).toMatchObject({ held: { reason: 'overdue' }, ab: { winner: null } });
    expect((await campaign.call('POST', `/broadcasts/${held}/resume`)).status).toBe(200);
    await scene.settled();
    expect(listAddresses('Gone A', 'Gone B')).toHaveLength(tested);
    expect(listAddresses('Held A', 'Held B')).toEqual(many(40).sort());
  });
});
