import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { HOUR, MINUTE } from './mail.ts';

// The hours are by the clocks of Berlin; each scene begins before.
const TWICE = '2026-10-25T02:30:00+01:00';
const LEFT_OUT = '2027-03-28T02:30:00Z';

/** Makes contacts with a time zone, or without one. */
async function addContacts(campaign: Campaign, zones: Readonly<Record<string, string | null>>): Promise<void> {
  await campaign.call('POST', '/contact-properties', { key: 'timezone', type: 'string' });
  for (const [name, timezone] of Object.entries(zones)) {
    const contact = { email: `${name}@one.example`, ...(timezone !== null && { properties: { timezone } }) };
    expect((await campaign.call('POST', '/contacts', contact)).status).toBe(201);
  }
}

const move = (campaign: Campaign, name: string, timezone: string) =>
  campaign.call('PATCH', `/contacts/${name}@one.example`, { properties: { timezone } });

/** Each address once for each time it arrived, with the first moment of the steps at which it was there. */
function watchArrivals(scene: Scene, subject: string) {
  const seen: Record<string, string[]> = {};
  let read = 0;
  return {
    seen,
    async until(end: string, step = 30 * MINUTE): Promise<void> {
      for (;;) {
        await scene.settled();
        for (const { data, rcptTo } of scene.sink.messages.slice(read)) {
          if (!data.includes(`Subject: ${subject}\r\n`)) continue;
          for (const address of rcptTo) {
            const name = address.replace(/@.*/, '');
            seen[name] = [...(seen[name] ?? []), new Date(scene.clock.now()).toISOString().slice(0, 16)];
          }
        }
        read = scene.sink.messages.length;
        if (scene.clock.now() >= Date.parse(end)) return;
        scene.clock.advance(Math.min(step, Date.parse(end) - scene.clock.now()));
      }
    },
  };
}

describe('a broadcast at the local hour, in the night when an hour occurs twice,', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ startAt: '2026-10-24T11:00:00Z' });
  });
  afterAll(() => scene.close());

  it('is sent to each contact when its clock shows the time, and once when it shows it twice', async () => {
    const campaign = await campaignIn(scene);
    await addContacts(campaign, {
      first: 'Pacific/Kiritimati',
      last: 'Etc/GMT+12',
      twice: 'Europe/Berlin',
      folded: 'europe/BERLIN',
      half: 'Asia/Kolkata',
      alias: 'Asia/Calcutta',
      none: null,
      wrong: 'Mars/Olympus_Mons',
      offset: '+05:00',
      left: 'America/New_York',
    });
    await campaign.call('PATCH', '/contacts/left@one.example', { unsubscribed: true });
    const arrivals = watchArrivals(scene, 'Local');
    const id = await campaign.broadcast({
      subject: 'Local',
      scheduled_at: TWICE,
      local_time: true,
    });
    await arrivals.until('2026-10-24T12:00:00Z');
    expect(await campaign.get(id)).toMatchObject({ status: 'scheduled', local_time: true, waiting_reason: null });
    await arrivals.until('2026-10-24T13:00:00Z');
    expect(await campaign.get(id)).toMatchObject({
      status: 'sending',
      waiting_reason: 'local_hour',
      next_at: '2026-10-24T21:00:00.000Z',
      recipients: 1,
      total: 10,
      held: null,
    });
    await arrivals.until('2026-10-25T15:00:00Z');
    expect(arrivals.seen).toEqual({
      first: ['2026-10-24T12:30'],
      half: ['2026-10-24T21:00'],
      alias: ['2026-10-24T21:00'],
      twice: ['2026-10-25T00:30'],
      folded: ['2026-10-25T00:30'],
      none: ['2026-10-25T01:30'],
      wrong: ['2026-10-25T01:30'],
      offset: ['2026-10-25T01:30'],
      last: ['2026-10-25T14:30'],
    });
    const done = await campaign.get(id);
    expect(done).toMatchObject({ status: 'sent', recipients: 9, excluded: 1, waiting_reason: null, next_at: null });
  });
});

describe('a broadcast at the local hour, in the night when an hour is skipped,', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ startAt: '2027-03-27T10:00:00Z' });
  });
  afterAll(() => scene.close());

  it('is sent at the next existing hour, once to everybody, whatever changes meanwhile', async () => {
    const campaign = await campaignIn(scene);
    await addContacts(campaign, {
      gap: 'Europe/Berlin',
      utc: 'UTC',
      east: 'Pacific/Kiritimati',
      eastbound: 'America/New_York',
      westbound: 'Asia/Tokyo',
      deleted: 'America/Chicago',
      again: 'Pacific/Auckland',
      lost: 'America/Denver',
    });
    const arrivals = watchArrivals(scene, 'Gap');
    const id = await campaign.broadcast({ subject: 'Gap', scheduled_at: LEFT_OUT, local_time: true });
    await arrivals.until('2027-03-27T18:00:00Z');
    // Tokyo and Auckland have had it, New York has not.
    await move(campaign, 'eastbound', 'Asia/Tokyo');
    await move(campaign, 'westbound', 'America/Los_Angeles');
    await move(campaign, 'lost', 'nowhere');
    await campaign.call('DELETE', '/contacts/deleted@one.example');
    await campaign.call('DELETE', '/contacts/again@one.example');
    await addContacts(campaign, { again: 'America/Los_Angeles', late: 'Asia/Tokyo', joined: 'America/Los_Angeles' });
    await arrivals.until('2027-03-28T00:00:00Z');
    await scene.restart();
    await arrivals.until('2027-03-28T10:00:00Z');
    expect(arrivals.seen).toEqual({
      east: ['2027-03-27T12:30'],
      again: ['2027-03-27T13:30'],
      westbound: ['2027-03-27T17:30'],
      gap: ['2027-03-28T01:00'],
      utc: ['2027-03-28T02:30'],
      lost: ['2027-03-28T02:30'],
      joined: ['2027-03-28T09:30'],
      // It is sent at the end, with the last zone: its hour had passed where it went to.
      eastbound: ['2027-03-28T09:30'],
    });
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 8, excluded: 0 });
  });
});

describe('a broadcast at the local hour', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ startAt: '2026-11-30T12:00:00Z' });
  });
  afterAll(() => scene.close());
  const inHours = (hours: number): string => new Date(scene.clock.now() + hours * HOUR).toISOString();

  it('continues after its last page in the middle of a zone, with a rate and after a restart', async () => {
    const campaign = await campaignIn(scene);
    const readers = Array.from({ length: 6 }, (_, i) => [`tokyo${i}`, 'Asia/Tokyo']);
    await addContacts(campaign, { ...(Object.fromEntries(readers) as Record<string, string>), utc: 'UTC' });
    const arrivals = watchArrivals(scene, 'Slow');
    const id = await campaign.broadcast({
      subject: 'Slow',
      scheduled_at: inHours(10),
      local_time: true,
      rate_per_minute: 24,
    });
    await arrivals.until(inHours(1));
    expect(Object.keys(arrivals.seen)).toHaveLength(2);
    expect(await campaign.get(id)).toMatchObject({ status: 'sending', waiting_reason: 'rate', next_at: null });
    await scene.restart();
    await arrivals.until(new Date(scene.clock.now() + MINUTE).toISOString(), 5000);
    expect(Object.keys(arrivals.seen)).toHaveLength(6);
    expect(await campaign.get(id)).toMatchObject({ waiting_reason: 'local_hour', recipients: 6 });
    await arrivals.until(inHours(9), HOUR);
    expect(Object.values(arrivals.seen).map((times) => times.length)).toEqual(Array(7).fill(1));
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 7 });
  });

  it('can be canceled between two zones, and sends nothing more', async () => {
    const campaign = await campaignIn(scene);
    await addContacts(campaign, { tokyo: 'Asia/Tokyo', utc: 'UTC' });
    const arrivals = watchArrivals(scene, 'Canceled');
    const id = await campaign.broadcast({ subject: 'Canceled', scheduled_at: inHours(10), local_time: true });
    await arrivals.until(inHours(2));
    expect((await campaign.call('POST', `/broadcasts/${id}/cancel`)).status).toBe(200);
    await arrivals.until(inHours(10), HOUR);
    expect(Object.keys(arrivals.seen)).toEqual(['tokyo']);
    expect(await campaign.get(id)).toMatchObject({ status: 'canceled', recipients: 1, next_at: null });
  });

  it('is held when a zone is long overdue, and continues when it is resumed', async () => {
    const campaign = await campaignIn(scene);
    await addContacts(campaign, { tokyo: 'Asia/Tokyo', utc: 'UTC', york: 'America/New_York' });
    const arrivals = watchArrivals(scene, 'Overdue');
    const id = await campaign.broadcast({ subject: 'Overdue', scheduled_at: inHours(10), local_time: true });
    await arrivals.until(inHours(2));
    await scene.app.broadcasts?.stop(0);
    // New York's time has not come long ago, that of UTC has.
    scene.clock.advance(8 * HOUR + 7 * HOUR);
    await scene.restart();
    await arrivals.until(inHours(0));
    expect(await campaign.get(id)).toMatchObject({ status: 'sending', held: { reason: 'overdue' }, recipients: 1 });
    expect((await campaign.call('POST', `/broadcasts/${id}/resume`)).status).toBe(200);
    await arrivals.until(inHours(0));
    expect(Object.keys(arrivals.seen).sort()).toEqual(['tokyo', 'utc', 'york']);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', held: null });
  });

  it('reaches a contact once whose address changes before the last pass', async () => {
    const campaign = await campaignIn(scene);
    await addContacts(campaign, { tokyo: 'Asia/Tokyo', utc: 'UTC' });
    const arrivals = watchArrivals(scene, 'Renamed');
    const id = await campaign.broadcast({ subject: 'Renamed', scheduled_at: inHours(10), local_time: true });
    await arrivals.until(inHours(2));
    expect(Object.keys(arrivals.seen)).toEqual(['tokyo']);
    const renamed = { email: 'kyoto@one.example' };
    expect((await campaign.call('PATCH', '/contacts/tokyo@one.example', renamed)).status).toBe(200);
    await arrivals.until(inHours(24), 2 * HOUR);
    expect(Object.keys(arrivals.seen).sort()).toEqual(['tokyo', 'utc']);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 2 });
  });

  it('is sent at once when the time has passed already, and at the time itself without the property', async () => {
    const campaign = await campaignIn(scene);
    await addContacts(campaign, { passed: 'Pacific/Kiritimati' });
    const plain = await campaignIn(scene);
    await plain.addContacts(['plain@one.example']);
    const arrivals = watchArrivals(scene, 'Passed');
    const more = { subject: 'Passed', scheduled_at: inHours(2), local_time: true };
    await campaign.broadcast(more);
    const id = await plain.broadcast(more);
    await arrivals.until(inHours(0));
    expect(Object.keys(arrivals.seen)).toEqual(['passed']);
    await arrivals.until(inHours(2));
    expect(Object.keys(arrivals.seen)).toEqual(['passed', 'plain']);
    expect(await plain.get(id)).toMatchObject({ status: 'sent', recipients: 1 });
  });

  it('uses the fallback of the property for contacts without one', async () => {
    const campaign = await campaignIn(scene);
    await campaign.call('POST', '/contact-properties', {
      key: 'timezone',
      type: 'string',
      fallback_value: 'Asia/Tokyo',
    });
    await campaign.addContacts(['fallback@one.example']);
    const arrivals = watchArrivals(scene, 'Fallback');
    await campaign.broadcast({ subject: 'Fallback', scheduled_at: inHours(10), local_time: true });
    await arrivals.until(inHours(1));
    expect(Object.keys(arrivals.seen)).toEqual(['fallback']);
  });
});
